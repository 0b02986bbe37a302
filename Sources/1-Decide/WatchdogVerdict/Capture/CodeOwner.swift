// SPDX-License-Identifier: Apache-2.0

/// The owner of an interpreted function, or of one compiled at run time, according to its file or its name.
package enum CodeOwner: Comparable {
    /// The app itself: its script, module or class.
    case app
    /// An installed package.
    case package
    /// The language: its runtime and standard library.
    case runtime

    /// - Parameters:
    ///   - symbol: the function's name; nil if unknown.
    ///   - file: its source file; nil if unknown.
    package init(_ language: Frame.Language, symbol: String?, file: String?) {
        switch language {
        case .python: self.init(pythonFile: file)
        case .javascript: self.init(scriptFile: file)
        case .java: self.init(javaMethod: symbol)
        case .dotnet: self = Self.owner(of: symbol, Self.dotnetNamespaces)
        case .erlang: self = Self.erlangModules.contains(Self.module(symbol)) ? .runtime : .app
        case .jit: self = .app
        }
    }

    private init(pythonFile path: String?) {
        guard let path else {
            self = .app
            return
        }
        // Paths are untrusted, so this is one pass over the bytes, without regular expressions.
        let folders = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .dropFirst().dropLast()
        if folders.contains(where: { Self.pythonPackages.contains(String($0) ?? "") }) {
            self = .package
        } else if path.hasPrefix("<frozen ") || zip(folders, folders.dropFirst()).contains(where: Self.isPythonLibrary)
        {
            self = .runtime
        } else {
            // `<string>` and `<stdin>` are the script of `python3 -c` and of `python3 -`.
            self = path.hasPrefix("<") && path != "<string>" && path != "<stdin>" ? .package : .app
        }
    }

    private init(scriptFile path: String?) {
        guard let path, !path.hasPrefix("node:") else {
            self = .runtime
            return
        }
        self = path.contains("/node_modules/") ? .package : .app
    }

    private init(javaMethod symbol: String?) {
        let owner = Self.owner(of: symbol, Self.javaPackages)
        self = owner == .app && Self.owner(of: symbol, Self.javaLibraries) == .runtime ? .package : owner
    }

    private static func owner(of symbol: String?, _ prefixes: [String]) -> CodeOwner {
        guard let symbol else { return .app }
        return prefixes.contains(where: symbol.hasPrefix) ? .runtime : .app
    }

    private static func module(_ symbol: String?) -> String { String(symbol?.prefix { $0 != ":" } ?? "") }

    private static let javaPackages = ["java.", "javax.", "jdk.", "sun.", "com.sun.", "kotlin.", "scala.", "clojure."]
    /// A class does not say in which archive it came: these are never the app's own.
    private static let javaLibraries = [
        "org.springframework.", "org.apache.", "org.eclipse.", "org.hibernate.", "org.jboss.", "org.postgresql.",
        "org.slf4j.", "org.mariadb.", "org.h2.", "org.sqlite.", "io.netty.", "io.grpc.", "io.undertow.", "io.vertx.",
        "io.quarkus.", "io.micronaut.", "io.lettuce.", "reactor.", "akka.", "okhttp3.", "okio.", "retrofit2.", "rx.",
        "ch.qos.logback.", "com.zaxxer.hikari.", "com.mysql.", "com.mongodb.", "com.fasterxml.", "com.google.common.",
        "redis.clients.", "oracle.", "junit.", "org.junit.", "org.gradle.", "org.codehaus.",
    ]
    private static let dotnetNamespaces = ["System.", "Microsoft.", "Interop", "Internal."]
    private static let erlangModules: Set<String> = [
        "global", "erlang", "erts_internal", "init", "lists", "maps", "proc_lib", "gen", "gen_server", "gen_statem",
        "supervisor", "application_master", "timer", "io", "io_lib", "file", "ets", "prim_inet", "inet", "gen_tcp",
        "prim_file", "code", "code_server", "logger", "shell", "group", "string", "binary", "queue", "dict",
    ]

    private static let pythonPackages: Set<String> = ["site-packages", "dist-packages"]
    private static let libraries: Set<String> = ["lib", "lib32", "lib64"]
    private static let pythonPrefix = "python3."

    /// Whether two folders are `lib/python3.N`.
    private static func isPythonLibrary(_ parent: Substring.UTF8View, _ folder: Substring.UTF8View) -> Bool {
        let version = folder.dropFirst(pythonPrefix.utf8.count)
        return libraries.contains(String(parent) ?? "") && folder.starts(with: pythonPrefix.utf8) && !version.isEmpty
            && version.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
