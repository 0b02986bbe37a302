// SPDX-License-Identifier: Apache-2.0

import WatchdogControl
import WatchdogLinux

extension Daemon {
    /// The most ancestors of a caller that are looked up: an app's script may call a command that calls another.
    private static let mostAncestors = 32

    /// The app one of whose processes makes a request; nil if none does, or if it is gone.
    ///
    /// The nearest ancestor that is an app's main process decides, or leads a session for one that has exited. So no app can
    /// pass for another, except for one that it has started itself.
    func app(askingBy peer: ControlPeer) -> String? {
        var distances: [Int32: Int] = [:]
        var next = peer.pid
        while next > 1, distances.count < 2 * Self.mostAncestors, let process = ProcessStat.read(next) {
            for id in [process.id, process.session] where id > 0 && distances[id] == nil {
                distances[id] = distances.count
            }
            next = process.parent
        }
        let askers = apps.values.compactMap { app in
            app.current?.pid.flatMap { distances[$0] }.map { (name: app.name, distance: $0) }
        }
        return askers.min { $0.distance < $1.distance }?.name
    }
}
