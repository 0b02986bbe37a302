// SPDX-License-Identifier: Apache-2.0

// A server on one SwiftNIO event loop that is watched there. It returns what it is sent; `block N` blocks the loop for N
// milliseconds first.

import Dispatch
import Glibc
import NIOCore
import NIOPosix
import Watchdog
import WatchdogNIO

final class EchoHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        let words = String(buffer: buffer).split(whereSeparator: \.isWhitespace)
        if words.first == "block", let milliseconds = words.dropFirst().first.flatMap({ UInt32($0) }) {
            usleep(min(milliseconds, 60_000) * 1000)
        }
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    }
}

let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let eventLoop = group.next()

let bootstrap = ServerBootstrap(group: group)
    .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(EchoHandler()) }
    }
let server = try bootstrap.bind(host: "127.0.0.1", port: 0).wait()
let watched = try WatchedEventLoop.watch(eventLoop) { server.close(promise: nil) }.wait()

signal(SIGTERM, SIG_IGN)
let termination = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
termination.setEventHandler { @Sendable in server.close(promise: nil) }
termination.activate()

Watchdog.ready()
print("EchoServer: port \(server.localAddress?.port ?? 0)")
fflush(nil)
try server.closeFuture.wait()
Watchdog.stopping()
withExtendedLifetime(watched) {}
print("EchoServer: ends")
