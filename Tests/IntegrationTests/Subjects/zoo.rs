// SPDX-License-Identifier: Apache-2.0

//! Ways in which a Rust program hangs: the first argument is one of them. Prints "ready" before it does.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

fn ready() {
    println!("ready");
}

#[inline(never)]
fn save_order() {
    let orders = Arc::new(Mutex::new(0));
    let theirs = orders.clone();
    let (sender, held) = mpsc::channel();
    thread::spawn(move || {
        let _guard = theirs.lock().unwrap();
        sender.send(()).unwrap();
        loop {
            thread::park();
        }
    });
    held.recv().unwrap();
    ready();
    *orders.lock().unwrap() += 1;
}

#[inline(never)]
fn take_job() {
    let (_sender, jobs) = mpsc::channel::<u32>();
    ready();
    println!("{:?}", jobs.recv());
}

#[inline(never)]
fn fetch_prices() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut connection = TcpStream::connect(server.local_addr().unwrap()).unwrap();
    ready();
    let _ = connection.read(&mut [0]);
}

#[inline(never)]
fn wait_for_worker() {
    let worker = thread::Builder::new().name("importer".into()).spawn(compute_primes).unwrap();
    ready();
    println!("{:?}", worker.join());
}

#[inline(never)]
fn compute_primes() -> u64 {
    let mut number: u64 = 1;
    while std::hint::black_box(number) != 0 {
        number = number.wrapping_mul(31).wrapping_add(7);
    }
    number
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("lock") => save_order(),
        Some("channel") => take_job(),
        Some("read") => fetch_prices(),
        Some("join") => wait_for_worker(),
        Some("spin") => {
            ready();
            println!("{}", compute_primes());
        }
        _ => std::process::exit(64),
    }
}
