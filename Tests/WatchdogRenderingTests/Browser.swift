// SPDX-License-Identifier: Apache-2.0

import CLinux
import FoundationEssentials
import Glibc
import ReportFixtures
import TestSupport

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

/// A headless Chromium, controlled with its DevTools protocol over a pair of pipes.
///
/// Messages are JSON objects that end in a zero byte: the browser reads from descriptor 3 and writes to 4.
final class Browser {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static let program: String? =
        (["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"] as [String])
        .first { access($0, X_OK) == 0 }

    private let process: pid_t
    private let ear: Int32
    private let mouth: Int32
    private var buffer: [UInt8] = []
    private var number: Int64 = 0
    private var session: String?
    /// The pages' messages and requests since the last ``open(_:)``.
    private(set) var events: [JSONTree] = []

    /// Starts the browser.
    ///
    /// - Parameter folder: for its profile and all its files.
    init(_ program: String, folder: String) throws {
        var toBrowser: [Int32] = [-1, -1]
        var fromBrowser: [Int32] = [-1, -1]
        guard wd_pipe(&toBrowser, 0) == 0, wd_pipe(&fromBrowser, 0) == 0 else {
            throw Failure(description: "pipe: \(errno)")
        }
        ear = toBrowser[1]
        mouth = fromBrowser[0]
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // High numbers first, because 3 or 4 may be one of the pipes' own.
        posix_spawn_file_actions_adddup2(&actions, toBrowser[0], 103)
        posix_spawn_file_actions_adddup2(&actions, fromBrowser[1], 104)
        posix_spawn_file_actions_adddup2(&actions, 103, 3)
        posix_spawn_file_actions_adddup2(&actions, 104, 4)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var options = [
            "--headless", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir=\(folder)/profile",
            "--hide-scrollbars", "--disable-background-networking", "--no-first-run", "about:blank",
        ]
        // Chromium's own sandbox does not run as root.
        if geteuid() == 0 { options.insert("--no-sandbox", at: 0) }
        let arguments = ([program] + options).map { strdup($0) } + [nil]
        let variables =
            (["HOME=\(folder)", "PATH=/usr/bin:/bin", "LANG=C.UTF-8"] as [String]).map { strdup($0) } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var child: pid_t = 0
        let error = posix_spawn(&child, program, &actions, nil, arguments, variables)
        close(toBrowser[0])
        close(fromBrowser[1])
        guard error == 0 else { throw Failure(description: "\(program): \(error)") }
        process = child
        try attach()
    }

    deinit {
        // Without a controller it exits by itself, within a limit.
        close(ear)
        close(mouth)
        kill(process, SIGKILL)
        waitpid(process, nil, 0)
    }

    private func attach() throws {
        let targets = try send("Target.getTargets")["targetInfos"]?.elements ?? []
        let page = targets.first { $0["type"]?.string == "page" }?["targetId"]?.string
        let answer = try send("Target.attachToTarget", ["targetId": .text(page ?? ""), "flatten": .bool(true)])
        session = answer["sessionId"]?.string
        for domain in ["Page", "Network", "Log", "Runtime"] { try send("\(domain).enable") }
    }

    /// Sends a command and waits for its result.
    @discardableResult
    func send(_ method: String, _ parameters: [String: JSONTree] = [:]) throws -> JSONTree {
        number += 1
        var message: [String: JSONTree] = [
            "id": .integer(number), "method": .text(method), "params": .object(parameters),
        ]
        if let session { message["sessionId"] = .text(session) }
        let bytes = try JSONEncoder().encode(JSONTree.object(message)) + [0]
        var sent = 0
        while sent < bytes.count {
            let count = bytes.dropFirst(sent).withUnsafeBytes { write(ear, $0.baseAddress, $0.count) }
            guard count > 0 else { throw Failure(description: "\(method): the browser is gone") }
            sent += count
        }
        while true {
            let answer = try receive()
            guard answer["id"]?.wholeNumber == number else { continue }
            if let error = answer["error"] { throw Failure(description: "\(method): \(error)") }
            return answer["result"] ?? .object([:])
        }
    }

    /// The next message; events are kept.
    private func receive() throws -> JSONTree {
        while true {
            if let end = buffer.firstIndex(of: 0) {
                let message = try JSONDecoder().decode(JSONTree.self, from: Data(buffer[..<end]))
                buffer.removeSubrange(...end)
                if message["method"] != nil { events.append(message) }
                return message
            }
            var entry = pollfd(fd: mouth, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, patienceInMilliseconds) > 0 else {
                throw Failure(description: "the browser says nothing")
            }
            var chunk = [UInt8](repeating: 0, count: 1 << 16)
            let count = read(mouth, &chunk, chunk.count)
            guard count > 0 else { throw Failure(description: "the browser ended") }
            buffer += chunk[..<count]
        }
    }

    /// Loads a page and waits until it is complete.
    func open(_ path: String) throws {
        events = []
        try send("Page.navigate", ["url": .text("file://\(path)")])
        while !events.contains(where: { $0["method"]?.string == "Page.loadEventFired" }) { _ = try receive() }
    }

    /// Shows pages as on a screen of that width, or on paper.
    func show(width: Int64, isDark: Bool, medium: String = "screen") throws {
        try send(
            "Emulation.setDeviceMetricsOverride",
            [
                "width": .integer(width), "height": .integer(844), "deviceScaleFactor": .integer(1),
                "mobile": .bool(width < 600),
            ])
        let scheme: JSONTree = .object([
            "name": .text("prefers-color-scheme"), "value": .text(isDark ? "dark" : "light"),
        ])
        try send("Emulation.setEmulatedMedia", ["media": .text(medium), "features": .array([scheme])])
    }

    /// The value of an expression, as text.
    func evaluate(_ expression: String) throws -> String {
        let answer = try send("Runtime.evaluate", ["expression": .text(expression), "returnByValue": .bool(true)])
        if let exception = answer["exceptionDetails"] { throw Failure(description: "\(exception)") }
        return answer["result"]?["value"]?.string ?? ""
    }

    /// The whole page as a picture.
    func screenshot() throws -> [UInt8] {
        let answer = try send("Page.captureScreenshot", ["captureBeyondViewport": .bool(true)])
        return Data(base64Encoded: answer["data"]?.string ?? "").map { Array($0) } ?? []
    }
}
