"""Strangers against a job of real processes on three machines, which are network namespaces: whoever is no member changes nothing, neither the sums, nor the memory,
nor who lives.

Usage: strangers_test.py ROOT BUILD [unittest arguments].
"""
import ctypes
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

from three_machines import FOR_EVER, HOSTS, LIMIT, PLAIN, Job, Machines, listening

STRANGERS = 1000
MOST_MEMORY = 50 << 20  # that a job may grow by


def memory(processes):
    """Resident bytes of all together."""
    return sum(int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{p}/status").read_text()).group(1)) for p in processes) * 1024


class OnMachine:
    """This thread is on a machine: `with OnMachine(network, 3): ...`. Sockets that it makes there stay there."""

    def __init__(self, network, number):
        self.there = f"/run/netns/{network.name(number)}"

    def enter(self, place):
        with open(place) as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0x40000000) != 0:  # CLONE_NEWNET
                raise OSError(ctypes.get_errno(), place)

    def __enter__(self):
        self.here = open(f"/proc/self/task/{threading.get_native_id()}/ns/net")
        self.enter(self.there)

    def __exit__(self, *_):
        if ctypes.CDLL(None).setns(self.here.fileno(), 0x40000000) != 0:
            raise OSError("the way back")
        self.here.close()


GREETING = b"\xff" + bytes(8) + b"\x7f" + bytes([3, 0]) + b"CURVE".ljust(20, b"\0") + b"\0" + bytes(31)  # ZMTP 3.0 (RFC 23), with CURVE
EIGHT_GIB = struct.pack(">Q", 8 << 30)


class Strangers(Machines):
    def setUp(self):
        super().setUp()
        self.job = Job(self, "job", FOR_EVER, 1000)
        self.job.wait_for_steps(2)
        self.places = [(self.network.address(1), 5001)]
        for rank in range(HOSTS):
            self.places += listening(self.network, rank + 1, self.job.pid(rank))
        self.assertEqual(len(self.places), 1 + HOSTS)  # the scheduler and three servers

    def connect(self, place):
        with OnMachine(self.network, 3):
            stranger = socket.create_connection(place, timeout=LIMIT)
        self.addCleanup(stranger.close)
        return stranger

    def check_refused(self, stranger):
        """The other side hangs up."""
        try:
            while stranger.recv(4096):
                pass
        except ConnectionResetError:
            pass

    def check_growth(self, before):
        grown = memory(self.job.all()) - before
        self.assertLess(grown, MOST_MEMORY)
        self.job.wait_for_steps(3)
        return grown

    def test_raw_bytes_and_large_headers(self):
        before = memory(self.job.all())
        says = {
            "bytes": b"x" * 10000,
            "another protocol": b"GET / HTTP/1.1\r\n\r\n",
            "without a greeting, 8 GiB": b"\x02" + EIGHT_GIB + b"x" * 100,
            "ZMTP 1, 8 GiB": b"\xff" + EIGHT_GIB + b"\x00" + b"x" * 100,
            "a command of 8 GiB": GREETING + b"\x06" + EIGHT_GIB + b"x" * 100,
            "a message of 8 GiB": GREETING + b"\x02" + EIGHT_GIB + b"x" * 100,
            "no mechanism": GREETING.replace(b"CURVE", b"NULL\0") + b"\x04\x19\x05READY",
        }
        for place in self.places:
            for name, bytes_ in says.items():
                with self.subTest(name=name, place=place):
                    stranger = self.connect(place)
                    stranger.sendall(bytes_)
                    self.check_refused(stranger)
        self.check_growth(before)

    def test_one_that_is_slow(self):
        """A byte of its greeting a second: there is a time in which it must have said all."""
        for place in self.places[:2]:
            stranger = self.connect(place)
            stranger.settimeout(1)
            began = time.monotonic()
            for byte in GREETING * 2:
                try:
                    stranger.send(bytes([byte]))
                    while stranger.recv(4096):
                        pass
                    break
                except TimeoutError:
                    continue
                except OSError:
                    break
            else:
                self.fail("it may go on")
            self.assertLess(time.monotonic() - began, 60)
        self.job.wait_for_steps(3)

    def test_a_thousand(self):
        """At once, of all sorts, on each of the job's ports in turn, and they stay."""
        before = memory(self.job.all())
        says = (b"", GREETING, GREETING[:11], GREETING + b"\x06" + EIGHT_GIB + bytes(4000), b"x" * 60)
        strangers = []
        for number in range(STRANGERS):
            stranger = self.connect(self.places[number % len(self.places)])
            strangers.append(stranger)
            try:
                stranger.sendall(says[number % len(says)])
            except OSError:
                pass  # it has been refused already
        grown = self.check_growth(before)
        for stranger in strangers:
            self.check_refused(stranger)
        grown = max(grown, self.check_growth(before))
        print(f"\n{STRANGERS} strangers: the job's {1 + HOSTS} processes have grown by {grown / 1e6:.1f} MB", file=sys.stderr)

    def test_an_unknown_key(self):
        """Has the public key of the job, which anybody may see, and a secret key of its own; and one who has other keys altogether, or none."""
        zmq = ctypes.CDLL("libzmq.so.5")
        zmq.zmq_ctx_new.restype = zmq.zmq_socket.restype = ctypes.c_void_p
        public = re.search(r"^public (\S{40})$", pathlib.Path(self.keys("job")).read_text(), re.M).group(1).encode()
        with OnMachine(self.network, 3):
            context = ctypes.c_void_p(zmq.zmq_ctx_new())
            asked = []
            for place in self.places:
                for server in (public, b"other", None):
                    asked.append(self.ask(zmq, context, place, public if server == public else server))
            time.sleep(3)
            for dealer in asked:
                answer = ctypes.create_string_buffer(100)
                self.assertEqual(zmq.zmq_recv(dealer, answer, 100, 1), -1)  # not waiting: nothing has come
                zmq.zmq_close(dealer)
            zmq.zmq_ctx_term(context)
        self.job.wait_for_steps(3)

    def ask(self, zmq, context, place, server):
        """A connection, and something said through it."""
        own, secret, other, _ = (ctypes.create_string_buffer(41) for _ in range(4))
        zmq.zmq_curve_keypair(own, secret)
        zmq.zmq_curve_keypair(other, _)
        dealer = ctypes.c_void_p(zmq.zmq_socket(context, 5))  # ZMQ_DEALER
        none = ctypes.c_int(0)
        zmq.zmq_setsockopt(dealer, 17, ctypes.byref(none), ctypes.sizeof(none))  # ZMQ_LINGER
        if server is not None:
            for option, value in ((48, own.value), (49, secret.value), (50, other.value if server == b"other" else server)):  # ZMQ_CURVE_PUBLICKEY, _SECRETKEY, _SERVERKEY
                self.assertEqual(zmq.zmq_setsockopt(dealer, option, value, 41), 0)
        self.assertEqual(zmq.zmq_connect(dealer, f"tcp://{place[0]}:{place[1]}".encode()), 0)
        self.assertEqual(zmq.zmq_send(dealer, b"x" * 72, 72, 1), 72)
        return dealer


class Replay(Machines):
    """Somebody in the middle has recorded what a member said, and says it again."""

    def test_a_recorded_member(self):
        keys = self.keys("job")
        published, publish = os.pipe()
        job = {**PLAIN, "MXC_JOB": "1f", "MXC_SIZE": "2", "MXC_KEYS": keys, "TMPDIR": str(self.folder)}
        scheduler = subprocess.Popen(self.network.within(1, self.program), pass_fds=[publish],
                                     env={**job, "MXC_ROLE": "scheduler", "MXC_SCHEDULER": "tcp://10.77.0.1:*", "MXC_PUBLISH": str(publish)})
        self.addCleanup(scheduler.wait)
        self.addCleanup(scheduler.kill)
        os.close(publish)
        with open(published) as line:
            address = line.readline().strip()
        place = ("10.77.0.1", int(address.rsplit(":", 1)[1]))
        with OnMachine(self.network, 3):
            proxy = socket.create_server(("10.77.0.3", 0))
        recorded = []
        threading.Thread(target=self.pass_on, args=(proxy, place, recorded), daemon=True).start()
        workers = []
        for rank, at in enumerate((address, f"tcp://10.77.0.3:{proxy.getsockname()[1]}")):
            out = open(self.folder / f"replay-{rank}", "w+")
            self.addCleanup(out.close)
            workers.append(subprocess.Popen(self.network.within(rank + 1, self.program, FOR_EVER, 1000), stdout=out, stderr=subprocess.STDOUT,
                                            env={**job, "MXC_ROLE": "worker", "MXC_RANK": str(rank), "MXC_SCHEDULER": at}))
            self.addCleanup(workers[-1].wait)
            self.addCleanup(workers[-1].kill)
        self.wait_for_more(workers)
        said = bytes(recorded[0])
        self.assertEqual(said[12:17], b"CURVE")
        self.assertIn(b"\x05HELLO", said)
        self.assertIn(b"\x08INITIATE", said)
        for cut in (said, said[:said.index(b"\x08INITIATE")]):
            with OnMachine(self.network, 3):
                again = socket.create_connection(place, timeout=LIMIT)
            again.sendall(cut)
            if cut is said:
                answer = b""
                while more := self.received(again):
                    answer += more
                self.assertNotIn(b"\x05READY", answer)  # a new connection has keys of its own
            self.addCleanup(again.close)
        self.wait_for_more(workers)

    def wait_for_more(self, workers):
        """Both do three more steps."""
        def shown(rank):
            return (self.folder / f"replay-{rank}").read_text()
        wanted = max(shown(rank).count(", step ") for rank in (0, 1)) + 3
        deadline = time.monotonic() + LIMIT
        while any(shown(rank).count(", step ") < wanted for rank in (0, 1)):
            self.assertTrue(all(worker.poll() is None for worker in workers), shown(0) + shown(1))
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    @staticmethod
    def received(connection):
        try:
            return connection.recv(65536)
        except ConnectionResetError:
            return b""

    def pass_on(self, proxy, place, recorded):
        """Each connection to the proxy goes to `place`; what the first one says is kept."""
        while True:
            inner, _ = proxy.accept()
            with OnMachine(self.network, 3):
                outer = socket.create_connection(place)
            kept = bytearray()
            recorded.append(kept)
            for source, target, keep in ((inner, outer, kept), (outer, inner, None)):
                threading.Thread(target=self.copy, args=(source, target, keep), daemon=True).start()

    @staticmethod
    def copy(source, target, keep):
        try:
            while data := source.recv(65536):
                if keep is not None:
                    keep += data
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


if __name__ == "__main__":
    unittest.main(verbosity=2)
