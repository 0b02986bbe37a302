// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The probe that would watch an app for hangs, guessed from its command line.
public enum ProbeAdvice {
    /// Options whose value is a port.
    private static let portOptions: Set = ["--port", "--http-port", "--http.port", "--listen-port", "--server-port"]
    /// Options whose value is an address with a port.
    private static let addressOptions: Set = [
        "--bind", "--listen", "--addr", "--address", "--listen-address", "--listen-addr", "--web.listen-address",
        "--http-address", "--http.address",
    ]
    /// Short options whose meaning depends on the program.
    private static let shortOptions: [String: [String]] = [
        "-p": ["memcached", "postgres", "mosquitto"], "-S": ["php"], "-b": ["gunicorn", "hypercorn"],
    ]
    /// Where programs listen if nothing says otherwise, by their own documentation.
    private static let ports: [String: UInt16] = [
        "redis-server": 6379, "valkey-server": 6379, "memcached": 11_211, "postgres": 5432, "mysqld": 3306,
        "mariadbd": 3306, "mongod": 27_017, "mosquitto": 1883, "nginx": 80, "apache2": 80, "httpd": 80,
        "lighttpd": 80, "prometheus": 9090, "etcd": 2379, "gunicorn": 8000, "uvicorn": 8000, "hypercorn": 8000,
        "http.server": 8000,
    ]

    /// `Probe=tcp:127.0.0.1:7801`, or what to write if nothing tells where the app listens.
    ///
    /// - Parameter arguments: the command line, with the program first.
    public static func setting(_ arguments: [String], _ readiness: ReadinessSetting) -> String {
        target(arguments, readiness).map { "Probe=\($0)" } ?? "Probe=tcp:ADDR, Probe=http://ADDR/PATH or Probe=exec:CMD"
    }

    /// `tcp:127.0.0.1:7801`; nil if nothing tells where the app listens.
    ///
    /// - Parameter arguments: the command line, with the program first.
    public static func target(_ arguments: [String], _ readiness: ReadinessSetting) -> String? {
        if case .listening(let address) = readiness { return target(address) }
        guard let program = arguments.first?.split(separator: "/").last.map(String.init) else { return nil }
        // `python3 -m http.server 8080`, `python3 -m uvicorn app`.
        let module = arguments.firstIndex(of: "-m").flatMap { $0 + 1 < arguments.count ? $0 + 1 : nil }
        let name = program.hasPrefix("python") ? module.map { arguments[$0] } ?? program : program
        for (index, argument) in arguments.enumerated().dropFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1)
            let option = parts.first.map(String.init) ?? ""
            let next = index + 1 < arguments.count ? arguments[index + 1] : ""
            let value = parts.count == 2 ? String(parts[1]) : next
            if portOptions.contains(option) || addressOptions.contains(option)
                || shortOptions[option]?.contains(name) == true
            {
                // Without a port, it is only the host.
                if let target = target(text: value) { return target }
            }
            if name == "http.server", index > module ?? 0, UInt16(argument) != nil, arguments[index - 1] == name {
                return target(text: argument)
            }
        }
        return ports[name].flatMap { target(text: "\($0)") }
    }

    /// The target for `7801`, `:7801` or `10.0.0.5:7801`; a host that only a resolver knows becomes this one.
    private static func target(text: String) -> String? {
        if let path = text.afterPrefix("unix:") { return checked("unix:\(path)") }
        let plain = text.afterPrefix("tcp://") ?? text
        guard let port = plain.split(separator: ":", omittingEmptySubsequences: false).last.flatMap({ UInt16($0) }),
            port > 0
        else { return nil }
        let host = plain.dropLast("\(port)".count).dropLast()
        let isAny = ["", "*", "0.0.0.0", "[::]", "localhost"].contains(host)
        return (isAny ? nil : checked("tcp:\(host):\(port)")) ?? checked("tcp:127.0.0.1:\(port)")
    }

    private static func target(_ address: NetworkAddress) -> String? {
        switch address {
        case .tcp(.any, let port), .tcp(.loopback, let port): "tcp:127.0.0.1:\(port)"
        default: checked(ProbeSettings.Target.connect(address).description)
        }
    }

    private static func checked(_ target: String) -> String? {
        (try? ProbeSettings(parsing: target)).map { _ in target }
    }
}

extension AppConfiguration {
    /// Whether the file says what watches the app for hangs.
    ///
    /// Otherwise only an app that uses a client library or sends `WATCHDOG=1` is watched.
    public var saysWhatWatches: Bool {
        watchdog.probe != nil || watchdog.readiness == .channel || observed != nil
    }

    /// What to write in the section `[Watchdog]` so that probes watch the app: `Probe=tcp:127.0.0.1:7801`.
    public var probeAdvice: String { ProbeAdvice.setting(program.command.arguments, watchdog.readiness) }
}
