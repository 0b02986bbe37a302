// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy

/// The link of a run whose faults include its network.
///
/// Isolation: the loop's thread.
struct FaultNetwork {
    private let link: FaultyLink

    /// Moves the run to its own network namespace; nil if no fault needs it.
    ///
    /// Call it before the process has a second thread: unshare(2) affects only the calling thread.
    ///
    /// - Throws: ``RunError`` if a profile does not exist, or this machine or user does not permit it.
    static func make(for faults: [Fault]) throws(RunError) -> FaultNetwork? {
        var networks: [Fault.Network] = []
        for fault in faults {
            if case .network(let network) = fault.kind { networks.append(network) }
        }
        guard let first = networks.first else { return nil }
        for network in networks { try check(network) }
        let link = try open(for: first)
        do throws(LinuxError) {
            try SmallDisk.enterPrivateMounts()
            try link.mountNames()
        } catch {
            throw RunError.unavailable("--fault network \(first): \(error)")
        }
        return FaultNetwork(link: link)
    }

    private static func open(for network: Fault.Network) throws(RunError) -> FaultyLink {
        do throws(FaultyLink.Unavailable) {
            return try FaultyLink()
        } catch {
            throw RunError.unavailable("--fault network \(network): \(error)")
        }
    }

    /// Applies the combined conditions of these faults to the link.
    func apply(_ networks: [Fault.Network]) throws(LinuxError) {
        try link.apply(Self.conditions(of: networks))
    }

    /// The combined conditions of several faults; of several profiles, the last one applies.
    static func conditions(of networks: [Fault.Network]) -> FaultyLink.Conditions {
        var conditions = FaultyLink.Conditions()
        for case .profile(let name) in networks {
            guard let profile = LinkProfile.presets.first(where: { $0.name == name.lowercased() }) else { continue }
            conditions.up = FaultyLink.Lane(profile.uplink)
            conditions.down = FaultyLink.Lane(profile.downlink)
        }
        for network in networks {
            switch network {
            case .profile: break
            case .loss(let percent):
                conditions.up.loss = max(conditions.up.loss, Double(percent) / 100)
                conditions.down.loss = max(conditions.down.loss, Double(percent) / 100)
            case .dnsDelay(let delay): conditions.nameDelay = max(conditions.nameDelay, delay)
            case .cut: conditions.isCut = true
            }
        }
        return conditions
    }

    /// Rejects an unknown profile.
    private static func check(_ network: Fault.Network) throws(RunError) {
        guard case .profile(let name) = network else { return }
        do throws(LinkProfile.UnknownName) {
            _ = try LinkProfile.named(name)
        } catch {
            throw RunError.usage("--fault network \(name): \(error), loss P%, dns-delay SPAN or cut SPAN")
        }
    }
}

extension FaultyLink.Lane {
    fileprivate init(_ direction: LinkProfile.Direction) {
        self.init(bytesPerSecond: direction.bytesPerSecond, delay: direction.delay, loss: direction.loss)
    }
}
