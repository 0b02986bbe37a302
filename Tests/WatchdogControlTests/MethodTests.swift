// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogControl

@Suite("Methods")
struct MethodTests {
    @Test("the client calls each method, and the handler gets the caller's request")
    func allMethods() throws {
        let station = try Station()
        station.handler.log = [LogLine(time: Timestamp(microseconds: 7), text: "started\u{0}\n\u{1b}[31m")]
        station.handler.invalidFiles = [
            InvalidFile(
                name: "bad", file: "/etc/bad.app",
                diagnostics: [ControlDiagnostic(.error, file: "/etc/bad.app", line: 3, message: "no")])
        ]
        let place = ControlPath(station.path)
        try station.serving {
            let client = try ControlClient(place, patience: patience)
            #expect(try client.info().version == "1.2.3")
            #expect(try client.info().interfaces == [service, own])
            #expect(try client.definition(of: own) == ControlInterface.definition)
            #expect(try client.definition(of: service).contains("method GetInfo()"))
            let list = try client.list()
            #expect(list.apps.map(\.name) == ["api", "web"])
            #expect(list.apps.map(\.pid) == [100, 101])
            #expect(list.apps[1].uptime?.duration == .seconds(60))
            #expect(list.invalidFiles.map(\.name) == ["bad"])
            #expect(list.invalidFiles.first?.diagnostics.first?.line == 3)
            let description = try client.describe(DescribeRequest("web", logLines: 3))
            #expect(description.app == list.apps[1])
            #expect(description.details?.allowances.launch.duration == .seconds(20))
            #expect(description.log.map(\.text) == ["started\u{0}\n\u{1b}[31m"])
            #expect(!description.isLogWithheld)
            let daemon = try client.describeDaemon()
            #expect(daemon.version == "1.2.3" && daemon.pid == getpid() && daemon.apps == 2)
            #expect(daemon.reports == "/r")
            #expect(daemon.longestTurn >= daemon.recentTurn && daemon.recentTurn > Microseconds(count: 0))
            _ = try client.describe(DescribeRequest("api"))
            _ = try client.describe(DescribeRequest("api", logLines: 1_000_000))
            #expect(try client.launch(AppRequest("web")).pid == 4711)
            #expect(try client.terminate(AppRequest("web")).isGone == false)
            #expect(try client.restart(AppRequest("web")).pid == nil)
            #expect(try client.reload() == ReloadReply(added: ["new"], unchanged: 2))
            #expect(try client.reload(AppRequest("web", waits: true)).duration == Microseconds(count: 3_000))
            #expect(try client.reload(AppRequest("web")) == ReloadAppReply())
            #expect(try client.reports().reports.map(\.path) == ["/r/web.ips"])
            #expect(try client.reports(ReportsRequest(app: "web", limit: 5)).reports.count == 1)
            let forgotten = #expect(throws: ControlClientError.self) { try client.capture(CaptureRequest("web")) }
            #expect(forgotten?.description == "watchdogd gave no answer")
        }
        #expect(
            station.handler.calls == [
                "describe web 3", "describe api 10", "describe api 200", "launch web", "terminate web",
                "restart web by \(geteuid())", "reload", "reload web and wait", "reload web", "reports - 1000",
                "reports web 5", "capture web",
            ])
        #expect(station.server.statistics.calls == 18)
        #expect(station.server.statistics.errors == 1)
        try station.turn { station.server.statistics.open == 0 }
    }

    @Test("apps can be moved and sent events, and requests that would be truncated are rejected")
    func lifecycle() throws {
        let station = try Station()
        let place = ControlPath(station.path)
        try station.serving {
            let client = try ControlClient(place, patience: patience)
            #expect(try client.foreground(AppRequest("web")).state == "background")
            _ = try client.background(AppRequest("web", waits: true))
            _ = try client.suspend(AppRequest("web"))
            _ = try client.resume(AppRequest("web"))
            _ = try client.sendEvent(EventRequest("web", kind: "url", payload: "http://x/", waits: true))
            for request in [
                EventRequest("web", kind: ""), EventRequest("web", kind: "a\nSTATE=background"),
                EventRequest("web", kind: String(repeating: "k", count: 65)),
                EventRequest("web", kind: "k", payload: String(repeating: "p", count: 2_049)),
                EventRequest("web", kind: "k", payload: "\0"),
            ] {
                #expect(throws: ControlClientError.self) { try client.sendEvent(request) }
            }
        }
        #expect(
            station.handler.calls == [
                "foreground web", "background web and wait", "suspend web", "resume web", "event url web and wait",
            ])
    }

    @Test("the handler's errors arrive unchanged")
    func errors() throws {
        let diagnostics = [
            ControlDiagnostic(.error, file: "/a", line: 1, column: 2, message: "unknown key", suggestion: "User"),
            ControlDiagnostic(.warning, file: "/b", message: "odd"),
        ]
        let errors: [ControlError] = [
            .noSuchApp("x", suggestion: "web"), .invalidConfiguration(diagnostics), .invalidConfiguration([]),
            .alreadyRunning("web", pid: 5), .alreadyRunning("web", pid: nil), .notRunning("web"),
            .unkillable("web", pid: 9), .launchFailed("web", reason: "ENOENT"),
            .captureFailed("web", reason: "disk full"), .reloadFailed("web", reason: "no room"), .shuttingDown,
            .failed(reason: "no"),
        ]
        let station = try Station()
        for error in errors {
            station.handler.failure = error
            let place = ControlPath(station.path)
            let came = try station.serving {
                let client = try ControlClient(place, patience: patience)
                return #expect(throws: ControlClientError.self) { try client.restart(AppRequest("web")) }
            }
            #expect(came?.controlError == error)
            #expect(came?.description == error.description)
        }
        #expect(station.server.statistics.errors == errors.count)
    }

    @Test("a wrong name suggests the nearest one")
    func suggestion() throws {
        let station = try Station(FakeHandler(["database", "web", "worker"]))
        let place = ControlPath(station.path)
        let names = ["wokrer", "Database", "x", "wbe", String(repeating: "w", count: 30_000)]
        let came = try station.serving {
            let client = try ControlClient(place, patience: patience)
            return names.map { name in
                #expect(throws: ControlClientError.self) { try client.launch(AppRequest(name)) }?.description ?? ""
            }
        }
        #expect(came[0] == #"there is no app "wokrer"; did you mean "worker"?"#)
        #expect(came[1] == #"there is no app "Database"; did you mean "database"?"#)
        #expect(came[2] == #"there is no app "x""#)
        #expect(came[3] == #"there is no app "wbe"; did you mean "web"?"#)
        #expect(came[4] == #"there is no app "\#(String(repeating: "w", count: 64))""#)
    }

    @Test("the reply for an app with invalid files has the errors; an empty name matches nothing")
    func invalidApp() throws {
        let station = try Station()
        let diagnostic = ControlDiagnostic(.error, file: "/a/bad.app", line: 3, message: "no")
        station.handler.invalidFiles = [
            InvalidFile(name: "bad", file: "/a/bad.app", diagnostics: [diagnostic]),
            InvalidFile(name: "", file: "/a/.x.app", diagnostics: [diagnostic]),
        ]
        let place = ControlPath(station.path)
        let errors = try station.serving {
            let client = try ControlClient(place, patience: patience)
            return try ["bad", ""].map { name in
                try #require(
                    #expect(throws: ControlClientError.self) { try client.describe(DescribeRequest(name)) })
            }
        }
        #expect(errors.map(\.controlError) == [.invalidConfiguration([diagnostic], app: "bad"), .noSuchApp("")])
        #expect(
            errors[0].description
                == "the configuration of \"bad\" is invalid; correct it, then use 'watchdogd reload'\n"
                + "/a/bad.app:3: error: no")
    }

    @Test("calls that the protocol does not define get the standard's errors")
    func protocolErrors() throws {
        let station = try Station()
        let caller = try RawCaller(station)
        func error(_ json: String) throws -> String? {
            caller.say(json)
            return try caller.next()
        }
        func standard(_ name: String, _ key: String, _ value: String) -> String {
            #"{"error":"org.varlink.service.\#(name)","parameters":{"\#(key)":"\#(value)"}}"#
        }
        #expect(
            try error(#"{"method":"\#(own).Fly"}"#) == standard("MethodNotFound", "method", "\(own).Fly"))
        #expect(try error(#"{"method":"Fly"}"#) == standard("MethodNotFound", "method", "Fly"))
        #expect(
            try error(#"{"method":"org.example.X.Fly"}"#)
                == standard("InterfaceNotFound", "interface", "org.example.X"))
        #expect(
            try error(#"{"method":"\#(service).GetInterfaceDescription","parameters":{"interface":"a.b"}}"#)
                == standard("InterfaceNotFound", "interface", "a.b"))
        for (parameters, culprit) in [
            ("{}", "name"), ("null", "name"), (#"{"name":3}"#, "name"), (#"{"name":null}"#, "name"),
            (#"{"name":"web","wiat":true}"#, "wiat"), (#"{"name":"web","wait":1}"#, "wait"),
            (#"{"name":"web","wait":{"a":[]}}"#, "wait"), ("[]", "parameters"), ("7", "parameters"),
        ] {
            #expect(
                try error(#"{"method":"\#(own).Launch","parameters":\#(parameters)}"#)
                    == standard("InvalidParameter", "parameter", culprit), "\(parameters)")
        }
        for (method, parameters, culprit) in [
            ("Describe", #"{"name":"web","logLines":-1}"#, "logLines"),
            // The parser does not locate a number that no integer can represent.
            ("Describe", #"{"name":"web","logLines":1.5}"#, "parameters"),
            ("Describe", #"{"name":"web","logLines":1e300}"#, "parameters"),
            ("Reports", #"{"limit":-9223372036854775808}"#, "limit"),
            ("List", #"{"all":true}"#, "all"),
        ] {
            #expect(
                try error(#"{"method":"\#(own).\#(method)","parameters":\#(parameters)}"#)
                    == standard("InvalidParameter", "parameter", culprit), "\(parameters)")
        }
        #expect(
            try error(#"{"method":"\#(own).List","upgrade":true}"#)
                == standard("InvalidParameter", "parameter", "upgrade"))
        #expect(
            try error(#"{"method":"\#(own).Monitor"}"#)
                == #"{"error":"org.varlink.service.ExpectedMore","parameters":{}}"#)
        #expect(station.handler.calls == [])
    }

    @Test("pipelined calls are answered in order, even if the first takes longest")
    func pipelining() throws {
        let station = try Station()
        let caller = try RawCaller(station)
        caller.call("\(own).Terminate", #"{"name":"web","wait":true}"#)
        for _ in 0..<20 {
            caller.call("\(service).GetInfo")
            caller.call("\(own).Launch", #"{"name":"web"}"#)
            caller.call("\(own).List")
        }
        try station.turn { station.handler.pendingTerminations.count == 1 }
        try station.settle()
        caller.read()
        #expect(caller.received == [])
        #expect(station.handler.calls == ["terminate web"] + Array(repeating: "launch web", count: 20))
        station.handler.pendingTerminations.removeFirst().succeed(TerminateReply(isGone: true))
        #expect(try caller.next() == #"{"parameters":{"isGone":true}}"#)
        for _ in 0..<20 {
            #expect(try #require(try caller.next()).contains("interfaces"))
            #expect(try caller.next() == #"{"parameters":{"pid":4711}}"#)
            #expect(try #require(try caller.next()).hasPrefix(#"{"parameters":{"apps":[{"#))
        }
    }

    @Test("a call that arrives byte by byte is carried out")
    func trickle() throws {
        let station = try Station()
        let caller = try RawCaller(station)
        for byte in Array(#"{"method":"\#(own).Reload"}"#.utf8) + [0] {
            caller.send([byte])
            try station.settle()
        }
        #expect(try #require(try caller.next()).contains(#""added":["new"]"#))
    }

    @Test("oneway calls are carried out without a reply, whatever their result")
    func oneway() throws {
        let station = try Station()
        let caller = try RawCaller(station)
        let oneway = #","oneway":true"#
        caller.call("\(own).Launch", #"{"name":"web"}"#, oneway)
        caller.call("\(own).Launch", #"{"name":"nobody"}"#, oneway)
        caller.call("\(own).Launch", "{}", oneway)
        caller.call("\(own).Fly", "{}", oneway)
        caller.call("\(own).List", "{}", oneway)
        caller.call("\(own).Monitor", "{}", oneway + #","more":true"#)
        // Nobody waits for it, so later calls do not either.
        caller.call("\(own).Terminate", #"{"name":"web","wait":true}"#, oneway)
        caller.call("\(own).Reload")
        #expect(try #require(try caller.next()).contains(#""added":["new"]"#))
        #expect(station.handler.calls == ["launch web", "launch nobody", "terminate web", "reload"])
        #expect(station.server.statistics.errors == 3)
        station.handler.pendingTerminations.removeAll()
        try station.settle()
        caller.read()
        #expect(caller.received == [])
    }

    @Test("'more' on a method with a single reply gets one reply")
    func moreOfOne() throws {
        let station = try Station()
        let caller = try RawCaller(station)
        caller.call("\(own).Launch", #"{"name":"web"}"#, #","more":true"#)
        #expect(try caller.next() == #"{"parameters":{"pid":4711}}"#)
    }

    @Test("a list of 1,000 apps is complete, even if apps are removed while it is sent")
    func longList() throws {
        let names = (0..<1000).map { "app-\(10_000 + $0)" }
        let station = try Station(FakeHandler(names))
        let place = ControlPath(station.path)
        let list = try station.serving { try ControlClient(place, patience: patience).list() }
        #expect(list.apps.map(\.name) == names)
        let caller = try RawCaller(station)
        caller.call("\(own).List")
        try station.turn {
            caller.read()
            return !caller.received.isEmpty
        }
        for name in names.suffix(990) { station.handler.apps[name] = nil }
        let message = try #require(try caller.next())
        #expect(message.hasPrefix(#"{"parameters":{"apps":[{"#))
        #expect(message.hasSuffix(#"}],"invalid":[]}}"#))
        #expect(message.count { $0 == "{" } < 1000)
    }

    @Test("without a handler no call is carried out")
    func noHandler() throws {
        let folder = try TemporaryFolder()
        let loop = try EventLoop()
        let socket = try ControlSocket.bind(path: "\(folder.path)/control", mode: 0o600)
        let server = try ControlServer(
            loop: loop, socket: socket, handler: FakeHandler(), info: ServiceInfo(version: "1"))
        let descriptor = OwnedDescriptor(taking: try connect("\(folder.path)/control"))
        let call = Array(#"{"method":"\#(own).List"}"#.utf8) + [0]
        #expect(send(descriptor.number, call, call.count, 0) == call.count)
        let end = Instant.now() + patience
        while server.statistics.errors == 0, Instant.now() < end { _ = try loop.runOnce(limit: .seconds(1)) }
        #expect(server.statistics.errors == 1)
    }
}
