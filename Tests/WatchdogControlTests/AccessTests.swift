// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogControl

@Suite("Access", .reapsChildren)
struct AccessTests {
    private struct Row: Sendable, CustomTestStringConvertible {
        let owner: UInt32
        let user: UInt32
        let mayAct: Bool

        var testDescription: String { "owner \(owner), user \(user)" }
    }

    private static let matrix = [
        Row(owner: 0, user: 0, mayAct: true),
        Row(owner: 0, user: 1, mayAct: false),
        Row(owner: 0, user: 1000, mayAct: false),
        Row(owner: 0, user: 65_534, mayAct: false),
        Row(owner: 0, user: .max, mayAct: false),
        Row(owner: 1000, user: 0, mayAct: true),
        Row(owner: 1000, user: 1000, mayAct: true),
        Row(owner: 1000, user: 1001, mayAct: false),
        Row(owner: 1000, user: 65_534, mayAct: false),
        Row(owner: 65_534, user: 0, mayAct: true),
        // This is how everybody without a number in this namespace appears.
        Row(owner: 65_534, user: 65_534, mayAct: false),
    ]

    @Test("root and the owner can act and inspect; everybody can see names and states", arguments: matrix)
    private func rights(row: Row) {
        let access = ControlAccess(owner: row.owner)
        #expect(access.allows(.observe, to: row.user))
        #expect(access.allows(.act, to: row.user) == row.mayAct)
        #expect(access.allows(.inspect, to: row.user) == row.mayAct)
    }

    @Test("the methods that act require the permission to act")
    func methods() {
        let acting = ControlMethod.allCases.filter { $0.right == .act }
        #expect(
            acting == [
                .launch, .terminate, .restart, .capture, .foreground, .background, .suspend, .resume, .sendEvent,
                .reload, .reloadApp,
            ])
        #expect(ControlMethod.allCases.filter { $0.right == .inspect } == [.reports, .metrics])
        #expect(
            ControlMethod.allCases.filter { $0.right == .observe }
                == [.getInfo, .getInterfaceDescription, .list, .describe, .describeDaemon, .monitor])
    }

    @Test("some connections are reserved for users who may act")
    func admission() {
        let limits = ControlLimits()
        #expect(limits.admits(mayAct: true, all: 63, others: 0, own: 63))
        #expect(!limits.admits(mayAct: true, all: 64, others: 0, own: 0))
        #expect(limits.admits(mayAct: false, all: 47, others: 47, own: 15))
        #expect(!limits.admits(mayAct: false, all: 48, others: 48, own: 0))
        #expect(!limits.admits(mayAct: false, all: 16, others: 16, own: 16))
        #expect(limits.admits(mayAct: true, all: 48, others: 48, own: 0))
        #expect(!limits.admits(mayAct: false, all: 64, others: 0, own: 0))
    }

    /// The server from the view of its owner, and of a user who is neither root nor the owner.
    ///
    /// The tests run as one user, so the rules get a different owner.
    @Test("a user who may not act is rejected by each method that acts, and sees only names and states")
    func refusals() throws {
        guard geteuid() != 0 else {
            print("skipped: root may act whoever the owner is; the test with another user covers it")
            return
        }
        let station = try Station(access: ControlAccess(owner: geteuid() + 1))
        station.fillWithSecrets()
        let caller = try RawCaller(station)
        try expectRefusals(of: caller, station, user: geteuid())
    }

    private func expectRefusals(of caller: RawCaller, _ station: Station, user: UInt32) throws {
        for method in ["Launch", "Terminate", "Restart", "Capture", "Reload", "ReloadApp"] {
            // Rejected before the parameters are checked.
            caller.call("\(own).\(method)", #"{"odd":1}"#)
            #expect(
                try caller.next()
                    == #"{"error":"\#(own).NotPermitted","parameters":{"owner":\#(station.server.access.owner),"#
                    + #""right":"act","user":\#(user)}}"#)
        }
        caller.call("\(own).Describe", #"{"name":"web"}"#)
        let description = try #require(try caller.next())
        #expect(description.contains(#""log":[],"isLogWithheld":true,"isWithheld":true"#))
        #expect(!description.contains("secret"))
        #expect(station.handler.calls.isEmpty)
    }

    /// The view of another user's process, from its own program, because only the kernel vouches for users.
    private static let program = """
        import json, socket, sys
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(sys.argv[1])
        stream = connection.makefile('rb')
        def call(method, parameters={}, **more):
            message = {'method': 'org.watchdogd.Supervisor.' + method, 'parameters': parameters, **more}
            connection.sendall(json.dumps(message).encode() + b'\\0')
            answer = b''
            while not answer.endswith(b'\\0'):
                byte = stream.read(1)
                if not byte: return 'closed'
                answer += byte
            return json.loads(answer[:-1])
        for method in ['Launch', 'Terminate', 'Restart', 'Capture', 'Reload', 'ReloadApp']:
            answer = call(method, {'name': 'web'} if method != 'Reload' else {})
            print(method, answer.get('error'), answer['parameters'])
        def show(name, answer): print(name, json.dumps(answer, sort_keys=True))
        show('List', call('List')['parameters'])
        show('Describe', call('Describe', {'name': 'web'})['parameters'])
        show('Describe', call('Describe', {'name': 'bad'})['parameters'])
        show('Describe', call('Describe', {'name': 'wob'})['parameters'])
        show('Reports', call('Reports'))
        others = []
        for _ in range(20):
            other = socket.socket(socket.AF_UNIX)
            other.connect(sys.argv[1])
            others.append(other)
        print('others', sum(b'TooMany' in other.recv(4096) for other in others[15:]))
        for other in others: other.close()
        show('Monitor', call('Monitor', {'history': 2}, more=True)['parameters'])
        for _ in range(2):
            event = b''
            while not event.endswith(b'\\0'): event += stream.read(1)
            show('Event', json.loads(event[:-1])['parameters'])
        long = socket.socket(socket.AF_UNIX)
        long.connect(sys.argv[1])
        long.sendall(b'{"x":"' + b'y' * 16379)
        print('long', long.recv(4096))
        """

    @Test("the kernel identifies a process of another user, which sees only names and states")
    func otherUser() throws {
        let python = "/usr/bin/python3"
        guard geteuid() == 0, access(python, X_OK) == 0 else {
            print("skipped: only root can start a process of another user, and \(python) is needed")
            return
        }
        let station = try Station()
        station.fillWithSecrets()
        chmod(try #require(station.folder).path, 0o711)
        var request = SpawnRequest(
            executable: python, arguments: ["python3", "-c", Self.program, station.path],
            environment: ["PATH": "/usr/bin:/bin"])
        request.credentials = Credentials(user: 4711, group: 4711)
        let output = try station.run(request)
        let refused = "{'owner': 0, 'right': 'act', 'user': 4711}"
        #expect(
            output == """
                Launch \(own).NotPermitted \(refused)
                Terminate \(own).NotPermitted \(refused)
                Restart \(own).NotPermitted \(refused)
                Capture \(own).NotPermitted \(refused)
                Reload \(own).NotPermitted \(refused)
                ReloadApp \(own).NotPermitted \(refused)
                List {"apps": [\
                {"name": "api", "restarts": 0, "sinceUSec": 1000000, "state": "running"}, \
                {"name": "web", "restarts": 1, "sinceUSec": 1000000, "state": "running"}], \
                "invalid": [{"diagnostics": [], "file": "", "name": "bad"}], "isWithheld": true}
                Describe {"app": {"name": "web", "restarts": 1, "sinceUSec": 1000000, "state": "running"}, \
                "isLogWithheld": true, "isWithheld": true, "log": []}
                Describe {"diagnostics": [], "name": "bad"}
                Describe {"name": "wob", "suggestion": "web"}
                Reports {"error": "\(own).NotPermitted", \
                "parameters": {"owner": 0, "right": "inspect", "user": 4711}}
                others 5
                Monitor {"isWithheld": true}
                Event {"event": {"app": "web", "kind": "captureFailed", "message": "capture failed", \
                "sequence": 1, "timeUSec": 7}}
                Event {"event": {"kind": "reloaded", "message": "reloaded", "sequence": 2, "timeUSec": 8}}
                long b'{"error":"\(own).MalformedMessage",\
                "parameters":{"reason":"a message may have at most 16384 bytes"}}\\x00'

                """)
        #expect(!output.contains("secret"))
        #expect(station.handler.calls.isEmpty)
        #expect(station.server.statistics.refused == 5)
        #expect(station.notices.allSatisfy { $0.peer?.user == 4711 && $0.peer?.group == 4711 })
        #expect(station.notices.first?.description.hasPrefix("refused \(own).Launch to pid ") == true)
    }
}

extension Station {
    /// Puts "secret" wherever a caller without the permission to inspect must see nothing.
    fileprivate func fillWithSecrets() {
        handler.log = [LogLine(text: "secret")]
        handler.apps["web"]?.summary = "secret"
        handler.apps["web"]?.nextLaunch = Timestamp(microseconds: 3)
        handler.apps["web"]?.lastIncident = IncidentSummary(
            kind: .crash, time: Timestamp(microseconds: 2), summary: "secret", event: "secret", verdict: "secret",
            report: "/secret")
        handler.invalidFiles = ["bad", ""].map { name in
            InvalidFile(
                name: name, file: "/secret/bad.app",
                diagnostics: [ControlDiagnostic(.error, file: "/secret/bad.app", line: 3, message: "secret")])
        }
        server.publish(
            ControlEvent(
                .captureFailed, app: "web", message: "secret", time: Timestamp(microseconds: 7), pid: 4700,
                report: "/secret"))
        server.publish(ControlEvent(.reloaded, message: "secret", time: Timestamp(microseconds: 8)))
    }

    /// Runs a program to its exit, serving meanwhile, and returns its output.
    func run(_ request: SpawnRequest) throws -> String {
        var request = request
        let pipe = try OwnedDescriptor.pipe()
        request.descriptors = [.init(pipe.write.number, as: 1), .init(pipe.write.number, as: 2)]
        let process = try spawn(request).process
        defer { process.killAndReap() }
        return try finish(pipe.read, process, closing: pipe.write)
    }

    private func finish(_ output: OwnedDescriptor, _ process: Pidfd, closing write: OwnedDescriptor) throws -> String {
        var bytes: [UInt8] = []
        var hasEnded = false
        let reader = try loop.onReadable(output) {
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            let length = Glibc.read(output.number, &buffer, buffer.count)
            if length > 0 { bytes += buffer[..<length] }
        }
        let end = try loop.onReadable(process.descriptor, priority: .idle) { hasEnded = true }
        try turn { hasEnded }
        _ = try process.waitExit()
        end.cancel()
        // This process's write end keeps the pipe open: the output is complete when no more arrives immediately.
        while try loop.runOnce(limit: .zero) {}
        reader.cancel()
        withExtendedLifetime(write) {}
        return String(decoding: bytes, as: UTF8.self)
    }
}
