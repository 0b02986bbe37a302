// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration

@Suite("Documentation of the configuration")
struct DocumentationTests {
    private func example() throws -> [Substring] {
        try TestFiles.text("units/example.app").split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// Lines such as `#Nice=5`.
    private func setting(_ line: Substring) -> (key: ConfigurationKey, text: Substring)? {
        guard line.hasPrefix("#"), let equals = line.firstIndex(of: "=") else { return nil }
        let text = line.dropFirst()
        return ConfigurationKey(rawValue: String(text[..<equals])).map { ($0, text) }
    }

    @Test("The example is valid as it is, and with every setting enabled")
    func exampleIsValid() throws {
        let lines = try example()
        #expect(try app(lines.joined(separator: "\n")).diagnostics == [])
        let all = lines.map { setting($0)?.text ?? $0 }.joined(separator: "\n")
        let app = try app(all)
        #expect(app.diagnostics == [])
        #expect(app.configuration != nil)
    }

    @Test("The example has every key, each once")
    func exampleIsComplete() throws {
        // A program is either launched or observed.
        let keys = try example().compactMap { setting($0)?.key } + [.execStart, .observe]
        #expect(Set(keys) == Set(ConfigurationKey.allCases))
        #expect(keys.count == ConfigurationKey.allCases.count)
    }

    @Test("The defaults in the example are right")
    func exampleDefaults() throws {
        var isExample = false
        var count = 0
        for line in try example() {
            if let setting = setting(line) {
                guard !isExample || setting.text == "NoNewPrivileges=no" else { continue }
                try expectDefault(setting.key, String(setting.text))
                count += 1
            } else {
                isExample = line.hasPrefix("#") && (line.hasSuffix("for example:") || line.hasSuffix("For example:"))
            }
        }
        #expect(count > 20)
    }

    /// A probe's times require a probe.
    private func expectDefault(_ key: ConfigurationKey, _ line: String) throws {
        let base =
            "[App]\nExecStart=/bin/web\n[Watchdog]\n"
            + (key.rawValue.hasPrefix("Probe") ? "Probe=http://localhost/\n" : "")
        let plain = try #require(try app(base).configuration)
        #expect(try app("\(base)[\(key.section.rawValue)]\n\(line)\n").configuration == plain, "\(line)")
    }

    @Test("The page has every key in its section, and the right defaults")
    func page() throws {
        var section = ""
        var keys: Set<ConfigurationKey> = []
        var defaults = 0
        for line in try TestFiles.text("docs/configuration.md").split(separator: "\n") {
            if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
            let cells = line.split(separator: "|").map { $0.trimming(" ") }
            guard line.hasPrefix("| `"), section.hasPrefix("["), cells.count == 4 else { continue }
            let names = cells[0].split(separator: ",").map { $0.trimming(" `") }
            for name in names {
                let key = try #require(ConfigurationKey(rawValue: name), "\(name)")
                #expect("[\(key.section.rawValue)]" == section, "\(name)")
                keys.insert(key)
                let value = cells[1].trimming("`")
                if cells[1].hasPrefix("`"), cells[1].hasSuffix("`"), value != "Limit" {
                    try expectDefault(key, "\(name)=\(value)")
                    defaults += 1
                }
            }
        }
        #expect(Set(ConfigurationKey.allCases).subtracting(keys) == [])
        #expect(defaults > 20)
    }
}

extension Substring {
    fileprivate func trimming(_ characters: String) -> String { String(self).trimming(characters) }
}

extension String {
    fileprivate func trimming(_ characters: String) -> String {
        var text = self[...]
        while let first = text.first, characters.contains(first) { text.removeFirst() }
        while let last = text.last, characters.contains(last) { text.removeLast() }
        return String(text)
    }
}
