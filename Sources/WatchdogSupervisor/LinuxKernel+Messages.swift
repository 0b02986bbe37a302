// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

extension LinuxKernel {
    /// Messages read in one turn of the loop, so that a flood leaves room for everything else.
    private static let burst = 32

    /// Turns of the loop that one socket gets in a tenth of a second: 6,400 messages a second at the most.
    func limitRates() throws {
        try notifySource?.limitRate(interval: .milliseconds(100), burst: 20)
        try channelSource?.limitRate(interval: .milliseconds(100), burst: 20)
    }

    /// Heeds what is still in the sockets when the main process has ended: what it said last was said before its end.
    ///
    /// Both queues are short, but another process of the app may fill them faster than they are read.
    func hearLastWords() {
        readNotifySocket(atMost: 512)
        readChannel(atMost: 512)
    }

    // A message stays in its socket until what it led to is done and saved: the watchdogd after one that is killed
    // meanwhile hears it again, and being told twice changes nothing.

    func readNotifySocket(atMost count: Int = burst) {
        for _ in 0..<count {
            let isHeeded = try? notifySocket.heed { message in
                // The attachments are closed when `message` goes, after it was heeded: that answers BARRIER=1.
                guard isFromApp(message) else { return }
                noteMemoryKills()
                supervisor?.notifyReceived(message.bytes)
            }
            guard isHeeded == true else { return }
        }
    }

    /// The socket is the app's alone.
    ///
    /// A sender may be gone already, so that only its user id can be judged.
    private func isFromApp(_ message: SocketMessage) -> Bool {
        [0, host.userID, configuration.credentials?.user].contains(message.senderUser)
    }

    func readChannel(atMost count: Int = burst) {
        for _ in 0..<count {
            let reception = try? channel.heed { message in
                noteMemoryKills()
                supervisor?.channelReceived(message.bytes)
            }
            switch reception {
            case .message:
                continue
            case .closed:
                // An app may close its end, or be about to end; its pings then stay unanswered.
                channelSource?.cancel()
                channelSource = nil
                return
            case .nothing, nil:
                return
            }
        }
    }
}
