// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

@inline(never)
func signIn() {
    let token = requestToken()
    print("HangMain: token of \(token) bytes")
}

@inline(never)
func requestToken() -> Int {
    let connection = connect(toPort: SilentServer.start())
    let request = "GET /token HTTP/1.0\r\n\r\n"
    send(connection, request, request.utf8.count, 0)
    let length = receiveResponse(connection)
    return length - request.utf8.count
}

@inline(never)
func receiveResponse(_ connection: Int32) -> Int {
    var buffer = [UInt8](repeating: 0, count: 4096)
    var length = 0
    while length < buffer.count {
        let count = recv(connection, &buffer, buffer.count, 0)
        guard count > 0 else { break }
        length += count
    }
    return length
}

private func connect(toPort port: in_port_t) -> Int32 {
    let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let result = withLoopback(port) { Glibc.connect(connection, $0, $1) }
    guard connection >= 0, result == 0 else { giveUp("cannot connect to 127.0.0.1") }
    return connection
}

/// A TCP server that accepts a connection, reads the request and never answers.
private enum SilentServer {
    static func start() -> in_port_t {
        let listener = boundSocket(SOCK_STREAM)
        guard listen(listener, 1) == 0 else { giveUp("cannot listen on 127.0.0.1") }
        startThread(named: "server") { serve(listener) }
        return port(of: listener)
    }

    @inline(never)
    private static func serve(_ listener: Int32) {
        let connection = accept(listener, nil, nil)
        var request = [UInt8](repeating: 0, count: 4096)
        recv(connection, &request, request.count, 0)
        sleepForever()
    }
}
