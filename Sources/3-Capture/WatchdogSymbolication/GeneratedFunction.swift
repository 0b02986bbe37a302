// SPDX-License-Identifier: Apache-2.0

import WatchdogVerdict

/// A function that a JIT compiler generated, parsed from its name in a perf map.
///
/// Each runtime has its own way of writing names: V8 in `src/logging/log.cc`, HotSpot in `CodeCache::write_perf_map`,
/// perf-map-agent in its README, .NET in `src/coreclr/vm/perfmap.cpp`, Erlang in its BeamAsm documentation, CPython in
/// `Python/perf_trampoline.c`.
struct GeneratedFunction: Equatable {
    /// The name without the runtime's marks.
    var name: String
    var file: String?
    /// The line at which the function begins.
    var line: Int?
    /// Nil for the runtime's own code.
    var language: Frame.Language?

    private static let nameLimit = 1024

    /// - Parameters:
    ///   - bytes: the name; untrusted.
    ///   - program: the name of the executable.
    init?(_ bytes: ArraySlice<UInt8>, program: String) {
        var text = String.UnicodeScalarView()
        for scalar in String(decoding: bytes.prefix(Self.nameLimit), as: UTF8.self).unicodeScalars {
            text.append(scalar.properties.generalCategory == .control ? "?" : scalar)
        }
        self.init(String(text), program: program)
    }

    private init?(_ text: String, program: String) {
        guard !text.allSatisfy({ $0 == " " }) else { return nil }
        name = text
        if let known = Self.script(text) ?? Self.python(text) ?? Self.dotnet(text) ?? Self.java(text, program)
            ?? Self.erlang(text)
        {
            self = known
        } else if Self.runtimeKinds.contains(where: text.hasPrefix) || Self.virtualMachines.contains(program) {
            language = nil
        } else {
            language = .jit
        }
    }

    private init(_ name: some StringProtocol, _ language: Frame.Language, file: String? = nil, line: Int? = nil) {
        self.name = name.isEmpty ? "<anonymous>" : String(name)
        self.language = language
        self.file = file
        self.line = line
    }

    private static let runtimeKinds = ["Builtin:", "BytecodeHandler:", "Stub:", "Handler:", "RegExp:"]
    /// Runtimes whose unrecognized entries are the runtime's own stubs.
    private static let virtualMachines: Set<String> = ["java", "dotnet", "beam.smp"]

    // MARK: - V8

    private static let scriptKinds: Set<Substring> = ["JS", "LazyCompile", "Function", "Script", "Eval", "Module"]
    private static let places = [" /", " file:", " node:", " [", " <", " evalmachine."]

    /// `JS:*parseFeed /srv/app.js:2:19`; the mark identifies the compiler tier.
    private static func script(_ text: String) -> GeneratedFunction? {
        guard let colon = text.firstIndex(of: ":"), scriptKinds.contains(text[..<colon]) else { return nil }
        let rest = text[text.index(after: colon)...].drop { "~*^+-'".contains($0) }
        let blank = places.compactMap { rest.firstRange(of: $0)?.lowerBound }.min() ?? rest.lastIndex(of: " ")
        guard let blank else { return GeneratedFunction(rest, .javascript) }
        var file = rest[rest.index(after: blank)...]
        var numbers: [Int] = []
        while numbers.count < 2, let colon = file.lastIndex(of: ":"),
            let number = Int(file[file.index(after: colon)...])
        {
            numbers.append(number)
            file = file[..<colon]
        }
        if file.hasPrefix("file://") { file = file.dropFirst("file://".count) }
        let line = numbers.last.flatMap { (1...Int(Int32.max)).contains($0) ? $0 : nil }
        return GeneratedFunction(
            rest[..<blank], .javascript, file: file.isEmpty ? nil : String(file), line: file.isEmpty ? nil : line)
    }

    // MARK: - Others

    /// `py::Feed.load:/srv/app.py`.
    private static func python(_ text: String) -> GeneratedFunction? {
        guard text.hasPrefix("py::") else { return nil }
        let rest = text.dropFirst("py::".count)
        guard let colon = rest.firstIndex(of: ":") else { return GeneratedFunction(rest, .python) }
        return GeneratedFunction(rest[..<colon], .python, file: String(rest[rest.index(after: colon)...]))
    }

    /// `instance void [Shop] Shop.Cart::Add(int32)[Tier0]`.
    private static func dotnet(_ text: String) -> GeneratedFunction? {
        guard text.hasSuffix("]"), let tier = text.lastIndex(of: "["), let separator = text.firstRange(of: "::"),
            let parameters = text[separator.upperBound...].firstIndex(of: "("), parameters < tier
        else { return nil }
        let type = text[..<separator.lowerBound].split(separator: " ").last ?? ""
        return GeneratedFunction("\(type).\(text[separator.upperBound..<parameters])", .dotnet)
    }

    /// `Lcom/example/Cart;::add` of perf-map-agent, `void com.example.Cart.add(int)` of HotSpot.
    private static func java(_ text: String, _ program: String) -> GeneratedFunction? {
        if text.hasPrefix("L"), let end = text.firstRange(of: ";::") {
            let type = text[..<end.lowerBound].dropFirst().map { $0 == "/" ? "." : $0 }
            return GeneratedFunction("\(String(type)).\(text[end.upperBound...])", .java)
        }
        guard program == "java", let parameters = text.firstIndex(of: "("),
            let name = text[..<parameters].split(separator: " ").last, name.contains(".")
        else { return nil }
        return GeneratedFunction(name, .java)
    }

    /// `$shop_cart:add/2`.
    private static func erlang(_ text: String) -> GeneratedFunction? {
        guard text.hasPrefix("$"), let colon = text.firstIndex(of: ":"), let slash = text.lastIndex(of: "/"),
            colon < slash, Int(text[text.index(after: slash)...]) != nil
        else { return nil }
        return GeneratedFunction(text.dropFirst(), .erlang)
    }
}
