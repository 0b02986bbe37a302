// SPDX-License-Identifier: Apache-2.0

import NetworkConditioner
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy

/// The link of a run whose faults include its network.
///
/// Isolation: the loop's thread.
struct FaultNetwork {
    private let link: FaultyLink

    /// Moves the run to a network of its own; nil if no fault needs one.
    ///
    /// Call it before there is a second thread.
    ///
    /// - Throws: ``RunError`` if a profile does not exist, or this machine or user cannot have such a network.
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

    /// Makes the link as bad as these faults together.
    func apply(_ networks: [Fault.Network]) throws(LinuxError) {
        try link.apply(Self.conditions(of: networks))
    }

    /// The conditions of several faults at once; of profiles, the last one counts.
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

    /// Refuses a profile that does not exist.
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
