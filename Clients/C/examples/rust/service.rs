// SPDX-License-Identifier: Apache-2.0

//! The service of ../service.c in Rust. It uses no crates, so it declares the few functions of libc itself.
//!
//! In a program of your own, let build.rs link what `pkg-config --libs libwatchdog` prints, or compile watchdog.c.

use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::io::{Error, Result};
use std::os::raw::{c_char, c_int, c_ulong, c_void};
use std::os::unix::io::{AsRawFd, IntoRawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

const COUNT_INTERVAL: Duration = Duration::from_secs(1);
const SAVE_DURATION: Duration = Duration::from_millis(20);

/// What the service needs of watchdog.h and libc; bindgen(1) can write such a module.
mod ffi {
    use std::os::raw::{c_char, c_int, c_short, c_uint, c_ulong, c_void};

    pub const WATCHDOG_LIFECYCLE: c_uint = 1;
    pub const WATCHDOG_FOREGROUND: c_int = 1;
    pub const WATCHDOG_BACKGROUND: c_int = 2;
    pub const WATCHDOG_DONE: c_int = 0;

    #[repr(C)]
    pub struct Handle {
        _opaque: [u8; 0],
    }

    pub type Notice = extern "C" fn(*mut Handle, *mut c_void);
    pub type State = extern "C" fn(*mut Handle, c_int, u64, *mut c_void) -> c_int;
    pub type Event = extern "C" fn(*mut Handle, *const c_char, *const c_char, u64, *mut c_void) -> c_int;
    pub type Time = extern "C" fn(*mut Handle, i64, *mut c_void);

    #[link(name = "watchdog")]
    extern "C" {
        pub fn watchdog_attach(flags: c_uint) -> *mut Handle;
        pub fn watchdog_detach(watchdog: *mut Handle);
        pub fn watchdog_descriptor(watchdog: *mut Handle) -> c_int;
        pub fn watchdog_timeout_ms(watchdog: *mut Handle) -> c_int;
        pub fn watchdog_service(watchdog: *mut Handle) -> c_int;
        pub fn watchdog_on_state(watchdog: *mut Handle, callback: Option<State>, context: *mut c_void);
        pub fn watchdog_on_event(watchdog: *mut Handle, callback: Option<Event>, context: *mut c_void);
        pub fn watchdog_on_background_time(watchdog: *mut Handle, callback: Option<Time>, context: *mut c_void);
        pub fn watchdog_on_expire(watchdog: *mut Handle, callback: Option<Notice>, context: *mut c_void);
        pub fn watchdog_on_disconnected(watchdog: *mut Handle, callback: Option<Notice>, context: *mut c_void);
        pub fn watchdog_state(watchdog: *mut Handle) -> c_int;
        pub fn watchdog_launch_event(watchdog: *mut Handle) -> *const c_char;
        pub fn watchdog_ready(watchdog: *mut Handle);
        pub fn watchdog_first_frame(watchdog: *mut Handle);
        pub fn watchdog_useful(watchdog: *mut Handle);
        pub fn watchdog_status(watchdog: *mut Handle, text: *const c_char);
        pub fn watchdog_summary(watchdog: *mut Handle, text: *const c_char);
        pub fn watchdog_stopping(watchdog: *mut Handle);
        pub fn watchdog_begin_task(watchdog: *mut Handle, name: *const c_char) -> u64;
        pub fn watchdog_end_task(watchdog: *mut Handle, id: u64);
        pub fn watchdog_begin_launch_task(watchdog: *mut Handle, name: *const c_char) -> c_int;
        pub fn watchdog_end_launch_task(watchdog: *mut Handle, name: *const c_char) -> c_int;
    }

    pub const SIGINT: c_int = 2;
    pub const SIGTERM: c_int = 15;
    pub const POLLIN: c_short = 1;

    #[repr(C)]
    pub struct PollDescriptor {
        pub descriptor: c_int,
        pub events: c_short,
        pub revents: c_short,
    }

    extern "C" {
        pub fn poll(waits: *mut PollDescriptor, count: c_ulong, timeout_ms: c_int) -> c_int;
        pub fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
        pub fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize;
    }
}

/// The connection to the supervisor. It is not `Send`: it belongs to the thread of the main loop.
struct Watchdog(*mut ffi::Handle);

// A handle of NULL is allowed everywhere, so none of these can fail. The library copies the texts.
impl Watchdog {
    fn attach() -> Self {
        Watchdog(unsafe { ffi::watchdog_attach(ffi::WATCHDOG_LIFECYCLE) })
    }

    /// Waits for `other` or a message, as long as `limit`, and serves the watchdog. Returns whether to exit.
    fn wait(&self, other: &impl AsRawFd, limit: Duration) -> bool {
        let wait = |descriptor| ffi::PollDescriptor { descriptor, events: ffi::POLLIN, revents: 0 };
        let mut waits = [wait(unsafe { ffi::watchdog_descriptor(self.0) }), wait(other.as_raw_fd())];
        let mut timeout_ms = limit.as_millis() as c_int + 1;
        let sooner_ms = unsafe { ffi::watchdog_timeout_ms(self.0) };
        if sooner_ms >= 0 {
            timeout_ms = timeout_ms.min(sooner_ms);
        }
        // An interrupted wait leaves `revents` as it was; extra calls of watchdog_service() do no harm.
        unsafe { ffi::poll(waits.as_mut_ptr(), waits.len() as c_ulong, timeout_ms) };
        let is_asked_to_exit = unsafe { ffi::watchdog_service(self.0) } != 0;
        is_asked_to_exit || waits[1].revents != 0
    }

    fn is_in_foreground(&self) -> bool {
        unsafe { ffi::watchdog_state(self.0) == ffi::WATCHDOG_FOREGROUND }
    }

    fn launch_event(&self) -> Option<String> {
        let kind = unsafe { ffi::watchdog_launch_event(self.0) };
        (!kind.is_null()).then(|| text(kind))
    }

    /// Reports that the app can be used, with a task that is part of the launch.
    fn complete_launch(&self, task: &CStr) {
        unsafe {
            ffi::watchdog_begin_launch_task(self.0, task.as_ptr());
            ffi::watchdog_first_frame(self.0);
            ffi::watchdog_ready(self.0);
            ffi::watchdog_end_launch_task(self.0, task.as_ptr());
            ffi::watchdog_useful(self.0);
        }
    }

    fn describe(&self, text: &CStr) {
        unsafe {
            ffi::watchdog_status(self.0, text.as_ptr());
            ffi::watchdog_summary(self.0, text.as_ptr());
        }
    }

    fn begin_task(&self, name: &CStr) -> u64 {
        unsafe { ffi::watchdog_begin_task(self.0, name.as_ptr()) }
    }

    fn end_task(&self, id: u64) {
        unsafe { ffi::watchdog_end_task(self.0, id) }
    }

    fn stopping(&self) {
        unsafe { ffi::watchdog_stopping(self.0) }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        unsafe { ffi::watchdog_detach(self.0) }
    }
}

struct Service {
    watchdog: Watchdog,
    count: Cell<u32>,
    save_task: Cell<u64>,
}

impl Service {
    /// The callbacks get this service, so it must live, and stay where it is, until the watchdog is detached.
    fn listen(&self) {
        let (watchdog, context) = (self.watchdog.0, self as *const Service as *mut c_void);
        unsafe {
            ffi::watchdog_on_state(watchdog, Some(enter_state), context);
            ffi::watchdog_on_event(watchdog, Some(handle_event), context);
            ffi::watchdog_on_background_time(watchdog, Some(take_background_time), context);
            ffi::watchdog_on_expire(watchdog, Some(expire), context);
            ffi::watchdog_on_disconnected(watchdog, Some(go_on_alone), context);
        }
    }

    /// Work that is not finished when the app goes to the background.
    fn save(&self) {
        self.save_task.set(self.watchdog.begin_task(&c_string("save")));
        sleep(SAVE_DURATION);
        self.watchdog.end_task(self.save_task.get());
        println!("service: saved {}", self.count.get());
    }

    fn count(&self) {
        self.count.set(self.count.get() + 1);
        self.watchdog.describe(&c_string(&format!("counted to {}", self.count.get())));
    }

    fn run(&self, terminations: &UnixStream) {
        let mut due = Instant::now() + COUNT_INTERVAL;
        while !self.watchdog.wait(terminations, due.saturating_duration_since(Instant::now())) {
            if Instant::now() < due {
                continue;
            }
            due += COUNT_INTERVAL;
            if self.watchdog.is_in_foreground() {
                self.count();
            }
        }
    }
}

// A panic may not leave these functions: build with `-C panic=abort`.

extern "C" fn enter_state(_: *mut ffi::Handle, state: c_int, _id: u64, context: *mut c_void) -> c_int {
    let is_background = state == ffi::WATCHDOG_BACKGROUND;
    println!("service: {}", if is_background { "background" } else { "foreground" });
    if is_background {
        service(context).save();
    }
    ffi::WATCHDOG_DONE
}

extern "C" fn handle_event(
    _: *mut ffi::Handle, kind: *const c_char, payload: *const c_char, id: u64, _: *mut c_void,
) -> c_int {
    let (kind, payload) = (text(kind), text(payload));
    println!("service: event {}: {} ({})", id, kind, payload);
    // `watchdogd conformance` requests this, to check that nothing answers pings meanwhile.
    if kind == "conformance-block" {
        sleep(Duration::from_millis(payload.parse().unwrap_or(0)));
    }
    ffi::WATCHDOG_DONE
}

extern "C" fn take_background_time(_: *mut ffi::Handle, microseconds: i64, _: *mut c_void) {
    println!("service: {} ms in the background", microseconds / 1000);
}

extern "C" fn expire(_: *mut ffi::Handle, context: *mut c_void) {
    let service = service(context);
    service.watchdog.end_task(service.save_task.get());
    println!("service: the time is over");
}

extern "C" fn go_on_alone(_: *mut ffi::Handle, _: *mut c_void) {
    println!("service: the supervisor is gone");
}

/// The service that `listen` passed.
fn service<'a>(context: *mut c_void) -> &'a Service {
    unsafe { &*(context as *const Service) }
}

/// A text of the library, which is never NULL here.
fn text(text: *const c_char) -> String {
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn c_string(text: &str) -> CString {
    CString::new(text).expect("no text of this service has a NUL")
}

static WAKER: AtomicI32 = AtomicI32::new(-1);

extern "C" fn wake(_signal: c_int) {
    unsafe { ffi::write(WAKER.load(Ordering::Relaxed), [0u8].as_ptr() as *const c_void, 1) };
}

/// Becomes readable on SIGTERM, which accompanies the request to exit; systemd and shells send only SIGTERM.
fn terminations() -> Result<UnixStream> {
    let (readable, waker) = UnixStream::pair()?;
    waker.set_nonblocking(true)?;
    WAKER.store(waker.into_raw_fd(), Ordering::Relaxed);
    for number in [ffi::SIGTERM, ffi::SIGINT] {
        // SIG_ERR
        if unsafe { ffi::signal(number, wake) } == usize::MAX {
            return Err(Error::last_os_error());
        }
    }
    Ok(readable)
}

fn main() -> Result<()> {
    // First thing, because it changes the environment.
    let watchdog = Watchdog::attach();
    let service = Box::new(Service { watchdog, count: Cell::new(0), save_task: Cell::new(0) });
    let terminations = terminations()?;
    service.listen();
    if let Some(kind) = service.watchdog.launch_event() {
        println!("service: launched for {}", kind);
    }
    service.watchdog.complete_launch(&c_string("warm up"));
    service.run(&terminations);
    service.watchdog.stopping();
    println!("service: ends");
    Ok(())
}
