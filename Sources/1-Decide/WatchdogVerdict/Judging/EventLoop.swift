// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Distinguishes an event loop's own wait from a wait in the app's code.
struct EventLoop {
    private let stack: NamedStack
    /// Whether the thread is known to have left this wait and entered it again.
    private let hasReturned: Bool

    init(_ stack: NamedStack, hasReturned: Bool) {
        self.stack = stack
        self.hasReturned = hasReturned
    }

    /// The finding that the thread is idle; nil if it may be something else.
    var finding: Finding? {
        guard let index = ownWait else { return nil }
        let name = stack.names[index].isEmpty ? "main, by its place" : stack.names[index].singleLine(limit: 128)
        return Finding(
            kind: .idleEventLoop,
            text: "The main thread is idle in its event loop: what should have answered waits elsewhere, such as in a "
                + "suspended task, in a worker, or for a callback",
            source: "frame \(index): \(name)")
    }

    /// The index of the loop's frame, if only parts of the loop are between it and the system call.
    private var ownWait: Int? {
        guard let call = stack.syscall, Self.calls.contains(call), !stack.contains(Self.nested) else { return nil }
        let isEpoll = call.hasPrefix("epoll_")
        let functions = call == "futex" ? Self.schedulers : Self.functions + Self.schedulers
        // Only event loops call epoll_wait(2), so a nameless frame is a stripped static function of the loop.
        var namelessLeft = isEpoll ? 2 : 0
        for (index, name) in stack.names.enumerated().prefix(Self.depth) {
            if isWrapper(index) { continue }
            if functions.contains(where: { NamedStack.isFunction(name, $0) }) { return index }
            let image = stack.images[index]
            if isEpoll, Self.interpreters.contains(where: image.hasPrefix) { return index }
            if Self.polling.contains(call), image.hasPrefix(Self.erlang) { return index }
            if name.isEmpty, Self.libraries.contains(where: image.hasPrefix) { continue }
            if name.isEmpty, isFollowed(index, by: ["PostmasterMain"]) { return index + 1 }
            if hasReturned, Self.polling.contains(call), isLoopByName(index) { return index }
            guard name.isEmpty, namelessLeft > 0 else { return nil }
            namelessLeft -= 1
        }
        return nil
    }

    private func isWrapper(_ index: Int) -> Bool {
        let name = stack.names[index]
        if ["libc.", "libc-", "libpthread", "[vdso]", "linux-vdso"].contains(where: stack.images[index].hasPrefix) {
            return !Self.starts.contains { NamedStack.isFunction(name, $0) }
        }
        if Self.goSystemCalls.contains(where: name.hasPrefix) { return true }
        let bare = name.drop { $0 == "_" }
        return Self.wrappers.contains { NamedStack.isFunction(bare, $0) }
    }

    private func isFollowed(_ index: Int, by functions: [String]) -> Bool {
        guard stack.names.indices.contains(index + 1) else { return false }
        return functions.contains { NamedStack.isFunction(stack.names[index + 1], $0) }
    }

    /// Whether the function is `main` or has a loop's name; a nameless one is `main` if libc called it.
    private func isLoopByName(_ index: Int) -> Bool {
        let name = stack.names[index]
        if name.isEmpty { return isFollowed(index, by: Self.starts) }
        return NamedStack.isFunction(name, "main") || name.lowercased().contains("loop")
    }

    /// The number of frames to search, from the innermost one.
    private static let depth = 12
    static let polling: Set<String> = [
        "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6",
    ]
    private static let calls = polling.union(["rt_sigsuspend", "rt_sigtimedwait", "io_uring_enter", "futex"])

    /// Loops that code runs nested, to wait for one thing.
    private static let nested = ["node::SyncProcessRunner::TryInitializeAndRunLoop"]
    private static let starts = ["__libc_start_call_main", "__libc_start_main", "__libc_start_main_impl", "_start"]
    /// Without leading underscores.
    private static let wrappers = [
        "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect", "pselect64", "sigsuspend",
        "sigwait", "sigwaitinfo", "sigtimedwait", "syscall", "g_poll", "WaitEventSetWait", "WaitEventSetWaitBlock",
        "runtime.futex", "runtime.futexsleep", "runtime.notesleep", "runtime.epollwait",
    ]
    /// The path of Go's package for raw system calls depends on the release: `runtime/internal/syscall`, from 1.24 on
    /// `internal/runtime/syscall`, from 1.26 on `internal/runtime/syscall/linux`.
    private static let goSystemCalls = ["runtime/internal/syscall", "internal/runtime/syscall"]
    /// Libraries that wait only in their event loop.
    private static let libraries = ["libglib-2.0", "libuv.", "libevent", "libev."]
    /// Python reaches epoll_wait(2) only through `select.epoll`, which asyncio and selectors use; its functions seldom
    /// have symbols.
    private static let interpreters = ["python", "libpython", "select.cpython"]

    /// Erlang's first thread only waits, and its code runs on scheduler threads; the executable is often stripped.
    private static let erlang = "beam."

    /// Go parks a thread without a runnable goroutine in futex(2) or in its network poller.
    private static let schedulers = [
        "runtime.netpoll", "runtime.findRunnable", "runtime.findrunnable", "runtime.stopm", "runtime.mPark",
        // Tcl's loop waits for a condition that a thread of its own signals.
        "Tcl_WaitForEvent",
    ]

    private static let functions = [
        // libdispatch, Foundation.
        "_dispatch_sigsuspend", "_dispatch_event_loop_drain", "__CFRunLoopServiceFileDescriptors", "__CFRunLoopRun",
        "CFRunLoopRunSpecific", "CFRunLoopRun",
        // GLib, libuv, libevent, libev, Qt, sd-event, Asio, mio, tevent, Dovecot's ioloop.
        "g_main_loop_run", "g_main_context_iteration", "g_main_context_iterate", "uv__io_poll", "uv_run",
        "event_base_loop", "event_base_dispatch", "epoll_dispatch", "ev_run", "ev_loop",
        "QEventDispatcherUNIX::processEvents", "QEventDispatcherGlib::processEvents", "QEventLoop::exec",
        "sd_event_wait", "sd_event_run", "sd_event_loop",
        "boost::asio::detail::epoll_reactor::run", "asio::detail::epoll_reactor::run", "mio::poll::Poll::poll",
        "tevent_common_loop_wait", "_tevent_loop_once", "io_loop_run", "io_loop_handler_run_internal",
        // Python, Erlang.
        "select_epoll_poll", "select_epoll_poll_impl", "erts_sys_main_thread",
        // redis, nginx, haproxy, php-fpm, PostgreSQL, MariaDB, MySQL, lighttpd, mosquitto, squid.
        "aeMain", "aeApiPoll", "aeProcessEvents", "ngx_epoll_process_events", "ngx_process_events_and_timers",
        "ngx_worker_process_cycle", "ngx_single_process_cycle", "ngx_master_process_cycle", "_do_poll", "run_poll_loop",
        "fpm_event_epoll_wait", "fpm_event_loop", "fpm_run", "ServerLoop", "handle_connections_sockets",
        "Mysqld_socket_listener::listen_for_connection_event", "server_main_loop", "fdevent_linux_sysepoll_poll",
        "fdevent_poll", "mosquitto_main_loop", "mux_epoll__handle", "Comm::DoSelect",
    ]
}

extension ProcessSamples {
    /// Whether a thread left a wait and entered the same one again between the first and the last sample.
    func hasReturned(_ thread: Int) -> Bool {
        guard let thread = threads.first(where: { $0.id == thread }), thread.runTime > .zero,
            let first = thread.runs.first, let last = thread.runs.last, thread.sampleCount > 1
        else { return false }
        let (start, end) = (stacks[first.stack], stacks[last.stack])
        // Local variables, such as the time until which it waits, differ each time, and with them the raw stack.
        return start.state == "S" && end.state == "S"
            && SystemCall.blocking(start.syscall)?.number == SystemCall.blocking(end.syscall)?.number
            && start.frames.count == end.frames.count
            && zip(start.frames, end.frames).allSatisfy { $0.isSameCall(as: $1) }
    }
}
