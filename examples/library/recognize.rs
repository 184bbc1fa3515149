// examples/library/recognize.rs: a trained model in a Rust program.
//
//   rustc -O recognize.rs -L FOLDER -l static=digits -l m && ./recognize PICTURES PROBABILITIES N
//
// Float32 numbers, 64 a picture in and 10 a picture out; N pictures a run. The declarations are those of digits.h.
use std::ffi::{c_void, CStr};
use std::os::raw::{c_char, c_int};

const PICTURE: usize = 64;
const ANSWER: usize = 10;

#[repr(C)]
struct Inputs {
    image: *const f32,
}

#[repr(C)]
struct Outputs {
    probability: *mut f32,
}

extern "C" {
    fn digits_build() -> u64;
    fn digits_allocate(build: u64, context: *mut *mut c_void) -> c_int;
    fn digits_destroy(context: *mut c_void);
    fn digits_run(context: *mut c_void, inputs: *const Inputs, outputs: *const Outputs, n: i64) -> c_int;
    fn digits_status_text(status: c_int) -> *const c_char;
}

// A context of its own. It may move to another thread, but is not shared by two.
struct Digits {
    context: *mut c_void,
}

unsafe impl Send for Digits {}

fn checked(status: c_int) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    Err(unsafe { CStr::from_ptr(digits_status_text(status)) }.to_string_lossy().into_owned())
}

impl Digits {
    fn new() -> Result<Digits, String> {
        let mut context = std::ptr::null_mut();
        checked(unsafe { digits_allocate(digits_build(), &mut context) })?;
        Ok(Digits { context })
    }

    // The probabilities of whole pictures, ten each.
    fn run(&mut self, pictures: &[f32]) -> Result<Vec<f32>, String> {
        let n = pictures.len() / PICTURE;
        let mut probabilities = vec![0.0; n * ANSWER];
        let inputs = Inputs { image: pictures.as_ptr() };
        let outputs = Outputs { probability: probabilities.as_mut_ptr() };
        checked(unsafe { digits_run(self.context, &inputs, &outputs, n as i64) })?;
        Ok(probabilities)
    }
}

impl Drop for Digits {
    fn drop(&mut self) {
        unsafe { digits_destroy(self.context) }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 4 {
        return Err("usage: recognize_rust PICTURES PROBABILITIES N".into());
    }
    let n: usize = arguments[3].parse()?;
    let pictures: Vec<f32> = std::fs::read(&arguments[1])?.chunks_exact(4).map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect();
    let mut net = Digits::new()?;
    let mut bytes = Vec::new();
    for some in pictures.chunks(n.max(1) * PICTURE) {
        for number in net.run(some)? {
            bytes.extend_from_slice(&number.to_ne_bytes());
        }
    }
    std::fs::write(&arguments[2], bytes)?;
    Ok(())
}
