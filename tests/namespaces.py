"""Machines as network namespaces behind a bridge, so that a job of many machines runs on one. What runs in them reaches nothing outside. Needs root and Linux."""
import subprocess

LIMIT = 60  # seconds after which a command hangs


class Network:
    """Machines 1 to `hosts` have the addresses 10.77.0.1 and so on; machine 0, 10.77.0.100, has the bridge. `prefix` begins the namespaces' names.

    `close` removes them, and kills nothing: end what runs in them first."""

    def __init__(self, prefix, hosts):
        self.prefix = prefix
        self.hosts = hosts
        try:
            for number in range(hosts + 1):
                self.ip("netns", "add", self.name(number))
                self.ip("-n", self.name(number), "link", "set", "lo", "up")
                # The host's may be another, and one that estimates bandwidth (bbr) leaves links idle between bursts.
                subprocess.run(self.within(number, "sh", "-c", "echo reno > /proc/sys/net/ipv4/tcp_congestion_control"), check=True, timeout=LIMIT)
            self.ip("-n", self.name(0), "link", "add", "bridge", "type", "bridge")
            self.ip("-n", self.name(0), "address", "add", f"{self.address(0)}/24", "dev", "bridge")
            self.ip("-n", self.name(0), "link", "set", "bridge", "up")
            for number in range(1, hosts + 1):
                self.ip("-n", self.name(0), "link", "add", f"to{number}", "type", "veth", "peer", "name", "eth0", "netns", self.name(number))
                self.ip("-n", self.name(0), "link", "set", f"to{number}", "master", "bridge", "up")
                self.ip("-n", self.name(number), "address", "add", f"{self.address(number)}/24", "dev", "eth0")
                self.ip("-n", self.name(number), "link", "set", "eth0", "up")
        except BaseException:
            self.close()
            raise

    def close(self):
        for number in range(self.hosts + 1):
            subprocess.run(["ip", "netns", "delete", self.name(number)], stderr=subprocess.DEVNULL, timeout=LIMIT)

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *map(str, words)], check=True, timeout=LIMIT)

    def name(self, number):
        return f"{self.prefix}-{number}"

    @staticmethod
    def address(number):
        return f"10.77.0.{number or 100}"

    def within(self, number, *command):
        """The command that runs `command` on a machine."""
        return ["ip", "netns", "exec", self.name(number), *map(str, command)]

    def shape(self, number, rate):
        """What a machine sends, and what it receives, passes at `rate` from now on: "200mbit". As with real ones, what waits to leave a machine waits, and a port of the
        switch drops what waits longer than 50 ms."""
        for space, device, room in ((number, "eth0", ("limit", "16mb")), (0, f"to{number}", ("latency", "50ms"))):
            subprocess.run(self.within(space, "tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate, "burst", "256kb", *room),
                           check=True, timeout=LIMIT)
