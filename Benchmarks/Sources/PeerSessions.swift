// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// s6 and runit: a scanner of a directory, a supervisor for each service, and a FIFO for each supervisor.
final class FifoSession: PeerSession {
    let stage: PeerStage
    private let controls: [String]
    let command: [String]?

    init(_ bench: Bench, _ count: Int, scanner: [String], starter: [String]) throws {
        var controls: [String] = []
        stage = try PeerStage(bench, passesOutput: true) { directory, service in
            for index in 0..<count {
                let folder = "\(directory)/services/service\(index)"
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try FileManager.default.createSymbolicLink(
                    atPath: "\(folder)/run", withDestinationPath: service)
                try Data().write(to: URL(filePath: "\(folder)/down"))
                try Data("3\n".utf8).write(to: URL(filePath: "\(folder)/notification-fd"))
                controls.append("\(folder)/supervise/control")
            }
            return scanner + ["\(directory)/services"]
        }
        self.controls = controls
        let folders = controls.map { String($0.dropLast("/supervise/control".count)) }
        command = Peer.find(starter[0]).map { [$0] + starter.dropFirst() + folders.prefix(1) }
        for control in controls {
            try stage.wait(for: control) {
                (try? OwnedDescriptor(opening: control, flags: O_WRONLY | O_NONBLOCK)) != nil
            }
        }
    }

    var request: [String]? { controls.first.map { ["write", $0, "u"] } }

    func startAll() throws { try sendAll("u") }

    func stopAll() throws { try sendAll("d") }

    private func sendAll(_ order: String) throws {
        for control in controls {
            let fifo = try OwnedDescriptor(opening: control, flags: O_WRONLY | O_NONBLOCK)
            guard write(fifo.number, order, 1) == 1 else { throw Failure("\(control) takes nothing") }
        }
    }
}

/// supervisord: one process, asked over its socket.
final class SupervisordSession: PeerSession {
    let stage: PeerStage

    init(_ bench: Bench, _ count: Int) throws {
        stage = try PeerStage(bench) { directory, service in
            let text = """
                [supervisord]
                nodaemon=true
                logfile=/dev/null
                logfile_maxbytes=0
                pidfile=\(directory)/pid
                childlogdir=\(directory)
                [unix_http_server]
                file=\(directory)/socket
                [rpcinterface:supervisor]
                supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
                [program:service]
                command=\(service) \(directory)/records
                process_name=service%(process_num)d
                numprocs=\(count)
                autostart=false
                autorestart=true
                startsecs=0
                stdout_logfile=NONE
                stderr_logfile=NONE

                """
            try Data(text.utf8).write(to: URL(filePath: "\(directory)/conf"))
            return ["supervisord", "-n", "-c", "\(directory)/conf"]
        }
        try stage.wait(for: "its socket") { (try? connect()) != nil }
    }

    private func connect() throws -> OwnedDescriptor {
        let descriptor = OwnedDescriptor(taking: socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = "\(stage.directory)/socket"
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw Failure("\(path) is too long")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor.number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw Failure("supervisord does not listen") }
        return descriptor
    }

    func startAll() throws {
        let call = """
            <?xml version="1.0"?><methodCall><methodName>supervisor.startAllProcesses</methodName><params><param>\
            <value><boolean>0</boolean></value></param></params></methodCall>
            """
        let request =
            "POST /RPC2 HTTP/1.0\r\nHost: localhost\r\nContent-Type: text/xml\r\nContent-Length: \(call.utf8.count)\r\n\r\n"
            + call
        let connection = try connect()
        guard write(connection.number, request, request.utf8.count) == request.utf8.count else {
            throw Failure("supervisord takes no request")
        }
        var answer = [UInt8](repeating: 0, count: 64 << 10)
        let count = read(connection.number, &answer, answer.count)
        guard count > 0, String(decoding: answer.prefix(count), as: UTF8.self).contains(" 200 ") else {
            throw Failure("supervisord refused to start its services")
        }
    }
}
