// SPDX-License-Identifier: Apache-2.0

/// Something that already runs and belongs to someone else.
public enum ObservedTarget: Hashable, Sendable {
    /// One process, with its descendants, until it exits.
    case process(Int32)
    /// A service of systemd, over all its restarts, by its complete name: `nginx.service`.
    case service(String)
    /// A container by its ID or the beginning of it, as podman, Docker and containerd name cgroups.
    case container(String)

    /// A text that is no target.
    public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// One sentence without a period that says what to write.
        public let description: String
    }

    /// The fewest digits of a container's ID, as `podman ps` and `docker ps` print them.
    private static let shortestID = 12
    /// The most digits.
    private static let longestID = 64

    /// Reads a target as people write it: `1234`, `nginx`, `nginx.service`, `3f2a9c1b77de`.
    public init(parsing text: String) throws(ParseError) {
        let isHexadecimal = text.utf8.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
        if let pid = Int32(text), pid > 0 {
            self = .process(pid)
        } else if isHexadecimal, (Self.shortestID...Self.longestID).contains(text.utf8.count) {
            self = .container(text)
        } else if let dot = text.lastIndex(of: "."), Self.otherUnits.contains(String(text[text.index(after: dot)...])) {
            throw ParseError(
                description:
                    "\(text.prefix(80).shown) has no process; only services can be observed, such as nginx.service")
        } else if let name = Self.serviceName(completing: text) {
            self = .service(name)
        } else {
            throw ParseError(
                description: "\(text.quoted()) is not a service, a process ID or a container ID; "
                    + "use a name such as nginx.service or a number such as 1234")
        }
    }

    /// The unit types that are not services: systemd.unit(5).
    private static let otherUnits = [
        "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "slice", "scope",
    ]

    /// The name as systemctl(1) completes it; nil if no service can have it.
    ///
    /// The limits are UNIT_NAME_MAX and VALID_CHARS of systemd's unit-name.c.
    private static func serviceName(completing text: String) -> String? {
        let name = text.hasSuffix(".service") ? text : text + ".service"
        let stem = name.dropLast(".service".count)
        let isValid = stem.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: ":-_.\\@".utf8.contains(byte)
            }
        }
        return isValid && !stem.isEmpty && name.utf8.count <= 255 ? name : nil
    }

    /// The name for reports and messages before the process is known: `nginx`.
    public var name: String {
        switch self {
        case .process(let pid): "pid \(pid)"
        case .service(let name): String(name.dropLast(".service".count))
        case .container(let id): String(id.prefix(Self.shortestID))
        }
    }
}

/// An app that watchdogd neither starts nor ends: `Observe=`.
public struct ObservedSettings: Hashable, Sendable {
    /// What is observed; never a process, whose ID changes.
    public var target: ObservedTarget
    /// `Enforce=restart-unit`: whether systemd is asked to restart the service after a hang.
    public var restartsUnit = false
}
