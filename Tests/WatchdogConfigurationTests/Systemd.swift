// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport

/// systemd's own parser for units, which prints its result in its test mode without running anything.
enum Systemd {
    static let path = "/lib/systemd/systemd"
    static let isThere = access(path, X_OK) == 0 && (geteuid() != 0 || access("/usr/bin/setpriv", X_OK) == 0)
    static let reason = "\(path) is not installed, or root cannot become another user with setpriv(1)"

    /// The names of all settings, as `[Service]ExecStart`.
    static func settings() -> [(section: String, key: String)] {
        var section = ""
        var settings: [(section: String, key: String)] = []
        for line in (TestFiles.output(of: "\(path) --dump-configuration-items --no-pager") ?? "").split(separator: "\n")
        {
            if line.hasPrefix("["), line.hasSuffix("]") {
                section = String(line.dropFirst().dropLast())
            } else if let equals = line.firstIndex(of: "="), ["Unit", "Service", "Install"].contains(section) {
                settings.append((section, String(line[..<equals])))
            }
        }
        return settings
    }

    /// systemd's reading of services, each given by the lines of its section `[Service]`.
    ///
    /// - Returns: the printed lines for each service, without indentation; empty if it is rejected.
    static func read(_ services: [String]) throws -> [[String]] {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let quiet = "[Unit]\nDefaultDependencies=no\n"
        var target = quiet + "Description=all\n"
        for (index, lines) in services.enumerated() {
            try "\(quiet)[Service]\n\(lines)\n".write(
                toFile: "\(folder)/s\(index).service", atomically: false, encoding: .utf8)
            target += "Wants=s\(index).service\n"
        }
        try target.write(toFile: "\(folder)/default.target", atomically: false, encoding: .utf8)
        // systemd refuses to run as root in user mode, and to run at all without its own directory.
        let other = geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups" : ""
        let output = TestFiles.output(
            of: """
                chmod -R a+rX \(folder) && mkdir -m 777 \(folder)/run && \(other) env -i HOME=/nonexistent \
                SYSTEMD_UNIT_PATH=\(folder) XDG_RUNTIME_DIR=\(folder)/run \
                timeout \(patience.components.seconds) \
                \(path) --test --user --unit=default.target --log-target=console --no-pager
                """)
        guard let output else { throw Failure() }
        var result = [[String]](repeating: [], count: services.count)
        var current: Int?
        for line in output.split(separator: "\n") {
            let text = line.drop { $0 == "\t" }
            if text.hasPrefix("-> Unit ") {
                let name = text.dropFirst("-> Unit ".count)
                current = name.hasPrefix("s") ? Int(name.dropFirst().prefix { $0 != "." }) : nil
            } else if let current {
                result[current].append(String(text))
            }
        }
        return result
    }

    struct Failure: Error {}

    private static func folder() throws -> String {
        var template = Array("/tmp/watchdogd-units.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure() }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Undoes the quoting of a printed command line.
    static func words(of line: Substring) -> [String] {
        let letters: [UInt8: UInt8] = [0x61: 7, 0x62: 8, 0x66: 12, 0x6e: 10, 0x72: 13, 0x74: 9, 0x76: 11]
        let bytes = Array(line.utf8)
        var words: [String] = []
        var word: [UInt8]?
        var isQuoted = false
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case 0x22:
                isQuoted.toggle()
                word = word ?? []
            case 0x20 where !isQuoted:
                if let word { words.append(String(decoding: word, as: UTF8.self)) }
                word = nil
            case 0x5c where isQuoted && index < bytes.count:
                let next = bytes[index]
                if (0x30...0x37).contains(next), index + 3 <= bytes.count {
                    let digits = String(decoding: bytes[index..<(index + 3)], as: UTF8.self)
                    word?.append(UInt8(digits, radix: 8) ?? 0)
                    index += 3
                } else {
                    word?.append(letters[next] ?? next)
                    index += 1
                }
            default:
                word = (word ?? []) + [byte]
            }
        }
        if let word { words.append(String(decoding: word, as: UTF8.self)) }
        return words
    }
}
