// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Something that already runs and belongs to someone else.
public enum ObservedTarget: Hashable, Sendable {
    /// One process, with its descendants, until it exits.
    case process(Int32)
    /// A service of systemd, over all its restarts, by its complete name: `nginx.service`.
    case service(String)
    /// A container by its ID or the beginning of it, as podman, Docker and containerd name cgroups, or by its name.
    case container(String)

    /// A text that is not a target.
    public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// One sentence without a period that says what to write.
        public let description: String
    }

    /// The fewest digits of a container's ID, as `podman ps` and `docker ps` print them.
    private static let shortestID = 12
    /// The most digits.
    private static let longestID = 64

    private static let containerPrefix = "container:"

    /// Whether a text can be a container's ID, or the beginning of one.
    public static func isContainerID(_ text: String) -> Bool {
        (shortestID...longestID).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }

    /// The container of `container:NAME`; nil for any other text.
    public static func container(in text: String) -> String? {
        guard text.hasPrefix(containerPrefix) else { return nil }
        let name = String(text.dropFirst(containerPrefix.count))
        return isContainerName(name) ? name : nil
    }

    /// Docker and podman: `[a-zA-Z0-9][a-zA-Z0-9_.-]*`; Kubernetes: NAMESPACE/POD/CONTAINER.
    private static func isContainerName(_ text: String) -> Bool {
        guard let first = text.utf8.first, isLetterOrDigit(first), text.utf8.count <= 400 else { return false }
        return text.utf8.allSatisfy { isLetterOrDigit($0) || "_./-".utf8.contains($0) }
            && !text.split(separator: "/", omittingEmptySubsequences: false).contains { ["", ".", ".."].contains($0) }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// The container that a service's name may also mean; nil if it cannot.
    public var containerName: String? {
        guard case .service = self, Self.isContainerName(name), !name.contains("/") else { return nil }
        return name
    }

    /// Reads a target as people write it: `1234`, `nginx`, `nginx.service`, `3f2a9c1b77de`, `container:web`.
    public init(parsing text: String) throws(ParseError) {
        if let pid = Int32(text), pid > 0 {
            self = .process(pid)
        } else if Self.isContainerID(text) {
            self = .container(text)
        } else if let name = Self.container(in: text) {
            self = .container(name)
        } else if let dot = text.lastIndex(of: "."), Self.otherUnits.contains(String(text[text.index(after: dot)...])) {
            throw ParseError(
                description:
                    "\(text.prefix(80).singleLine()) has no process; only services can be observed, such as nginx.service"
            )
        } else if let name = Self.serviceName(completing: text) {
            self = .service(name)
        } else {
            throw ParseError(
                description: "\(text.quoted()) is not a service, a process ID or a container; "
                    + "use a name such as nginx.service or container:web, or a number such as 1234")
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
        let isValid = stem.utf8.allSatisfy { isLetterOrDigit($0) || ":-_.\\@".utf8.contains($0) }
        return isValid && !stem.isEmpty && name.utf8.count <= 255 ? name : nil
    }

    /// The name for reports and messages before the process is known: `nginx`.
    public var name: String {
        switch self {
        case .process(let pid): "pid \(pid)"
        case .service(let name): String(name.dropLast(".service".count))
        case .container(let text): Self.isContainerID(text) ? String(text.prefix(Self.shortestID)) : text
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
