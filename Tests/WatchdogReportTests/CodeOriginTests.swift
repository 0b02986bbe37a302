// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogReport

@Suite("The owner of a frame's code")
struct CodeOriginTests {
    private func origin(_ path: String, executable: String? = nil) -> CodeOrigin {
        let image = ImageInfo(
            source: "P", arch: "x86_64", base: 0x1000, size: 0x1000, uuid: ImageInfo.absent.uuid, path: path,
            name: path.split(separator: "/").last.map(String.init))
        return CodeOrigin(of: image, executable: executable ?? path)
    }

    private func python(_ file: String?) -> CodeOrigin {
        let frame = FrameInfo(imageOffset: 0, imageIndex: 0, symbol: "f", sourceFile: file, language: "python")
        return CodeOrigin(of: frame, in: .unknown)
    }

    @Test("an interpreter is never the app's own code; a program with a similar name is")
    func interpreters() {
        for path in [
            "/usr/bin/python3.11", "/opt/pyenv/bin/python3", "/opt/lib/libpython3.12.so.1.0", "/usr/local/bin/node",
            "/opt/ruby/bin/ruby3.1", "/usr/bin/perl", "/srv/bin/php8.2", "/srv/node_modules/x/build/x.node",
            "/srv/venv/lib/python3.11/site-packages/numpy/core.cpython-311-x86_64-linux-gnu.so",
        ] {
            #expect(origin(path) == .library, "\(path)")
        }
        for path in ["/srv/nodes", "/srv/python-like-app", "/usr/bin/redis-server", "/srv/lib/libapp.so"] {
            #expect(origin(path) == .application, "\(path)")
        }
        var linked = ImageInfo.absent
        (linked.source, linked.path, linked.name) = ("P", "/usr/bin/python3.11", "worker")
        #expect(CodeOrigin(of: linked, executable: linked.path) == .library, "whatever a link to it is called")
        #expect(origin("/usr/lib/libc.so.6", executable: "/srv/app") == .runtime)
        #expect(origin("/usr/lib/libsqlite3.so.0", executable: "/srv/app") == .library)
    }

    @Test("a Python function belongs to the app unless it was installed or is Python's")
    func files() {
        for file in ["/srv/app.py", "app.py", "<string>", "<stdin>", "/srv/lib/python/app.py", nil] {
            #expect(python(file) == .application, "\(file ?? "")")
        }
        for file in [
            "/srv/venv/lib/python3.11/site-packages/flask/app.py", "/usr/lib/python3/dist-packages/yaml/__init__.py",
            "<attrs generated init app.Item>",
        ] {
            #expect(python(file) == .library, "\(file)")
        }
        for file in ["/usr/lib/python3.11/threading.py", "/opt/lib64/python3.13/ssl.py", "<frozen runpy>"] {
            #expect(python(file) == .runtime, "\(file)")
        }
    }

    @Test("a function that a runtime compiled belongs to the app unless it is installed or the language's")
    func generated() {
        func origin(_ language: String, _ symbol: String, _ file: String? = nil) -> CodeOrigin {
            let frame = FrameInfo(imageOffset: 0, imageIndex: 0, symbol: symbol, sourceFile: file, language: language)
            return CodeOrigin(of: frame, in: .unknown)
        }
        #expect(origin("javascript", "load", "/srv/app.js") == .application)
        #expect(origin("javascript", "load", "/srv/node_modules/express/index.js") == .library)
        #expect(origin("javascript", "readSync", "node:fs") == .runtime)
        #expect(origin("java", "com.example.Cart.add") == .application)
        #expect(origin("java", "java.util.HashMap.put") == .runtime)
        #expect(origin("dotnet", "Shop.Cart.Add") == .application)
        #expect(origin("dotnet", "System.Threading.Monitor.Wait") == .runtime)
        #expect(origin("erlang", "shop_cart:add/2") == .application)
        #expect(origin("erlang", "gen_server:loop/7") == .runtime)
        #expect(origin("jit", "TRACE_1") == .application)
        #expect(origin("from a later version", "f") == .application)
    }

    @Test(
        "a function in the program's own file belongs to the app unless it comes from a standard library or a package")
    func compiled() {
        func origin(_ symbol: String?, _ file: String? = nil) -> CodeOrigin {
            CodeOrigin(of: FrameInfo(imageOffset: 0, imageIndex: 0, symbol: symbol, sourceFile: file), in: .application)
        }
        for (symbol, file) in [
            ("zoo::save_order", "/srv/zoo.rs"), ("save_order", nil), ("main.openLog", "/srv/main.go"),
            ("example.com/shop/store.(*Cart).Add", "/srv/store/cart.go"), ("shop/store.Add", "shop/store/cart.go"),
            ("std::vector<int, std::allocator<int> > makeAll<int>(int)", nil), ("Cart::add(std::string const&)", nil),
            ("core::Engine::run()", nil), ("standard::f()", nil), (nil, nil), ("sort.isra.0", "/srv/sort.c"),
            ("time.constprop.0", nil), ("operator<<(std::ostream&, Cart const&)", "/srv/cart.cpp"),
            ("closure #1 in Worker.run(depth:)", "/srv/main.swift"),
        ] as [(String?, String?)] {
            #expect(origin(symbol, file) == .application, "\(symbol ?? "")")
        }
        for (symbol, file) in [
            ("std::sys::pal::unix::futex::futex_wait", "library/std/src/sys/pal/unix/futex.rs"),
            ("lock", "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/std/src/sync/poison/mutex.rs"),
            ("core::ops::function::FnOnce::call_once", nil), ("<std::net::tcp::TcpStream as std::io::Read>::read", nil),
            ("alloc::boxed::Box<F,A>::call_once", nil),
            ("runtime.epollwait.abi0", "/usr/lib/go-1.19/src/runtime/sys_linux_amd64.s"),
            ("net/http.(*conn).serve", "net/http/server.go"), ("os.Open", "/usr/local/go/src/os/file.go"),
            ("internal/runtime/syscall.Syscall6", "internal/runtime/syscall/asm_linux_amd64.s"),
            ("std::thread::join()", nil),
            ("void std::__invoke_impl<void, void (*)()>(std::__invoke_other, void (*&&)())", nil),
            ("f", "/usr/include/c++/12/bits/std_mutex.h"),
        ] as [(String, String?)] {
            #expect(origin(symbol, file) == .runtime, "\(symbol)")
        }
        for (symbol, file) in [
            ("github.com/lib/pq.(*conn).recv", "/root/go/pkg/mod/github.com/lib/pq@v1.10.9/conn.go"),
            ("github.com/lib/pq.(*conn).recv", "github.com/lib/pq@v1.10.9/conn.go"),
            (
                "tokio::runtime::park::Inner::park",
                "/root/.cargo/registry/src/index.crates.io-1949/tokio-1.40.0/src/runtime/park.rs"
            ),
            ("boost::asio::detail::scheduler::run", "/usr/include/boost/asio/detail/impl/scheduler.ipp"),
        ] {
            #expect(origin(symbol, file) == .library, "\(symbol)")
        }
    }
}
