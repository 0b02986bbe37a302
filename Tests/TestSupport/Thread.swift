// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Runs the body on its own thread, because the cooperative pool may have none to spare.
public func startThread(_ body: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    pthread_create(
        &thread, nil,
        { argument in
            if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
            return nil
        },
        Unmanaged.passRetained(Box(body)).toOpaque()
    )
    pthread_detach(thread)
}
