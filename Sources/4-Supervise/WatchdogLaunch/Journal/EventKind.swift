// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

/// The kinds of watchdogd's journal entries, each with a message id that never changes.
///
/// `units/watchdogd.catalog` explains each of them.
package enum EventKind: String, CaseIterable, Sendable {
    case launched
    case adopted
    case ready
    case marked
    case slow
    case hung
    case probeFailed
    case probeRecovered
    case probeImpossible
    case hangReported
    case credited
    case overslept
    case machineResumed
    case paused
    case resumed
    case extended
    case extensionRefused
    case messageRefused
    case terminating
    case killed
    case reported
    case named
    case captureFailed
    case crashed
    case channelLost
    case lifecycle
    case exited
    case leftBehind
    case unkillable
    case launchFailed
    case launchRegressed
    case outputRefused
    case restarting
    case limitReached
    case reloaded
    case appReloaded
    case reloadFailed
    case configurationInvalid
    case captured
    case messagesDropped
    case examinationsPaused

    /// `MESSAGE_ID`: 128 random bits, as sd-id128(3) requires.
    var messageID: String {
        switch self {
        case .launched: "d6ccecab654d46d598c12661e0544959"
        case .adopted: "c0c50fc2b4a944ab82aebbd747bfca07"
        case .ready: "fa8e92e2ad3142879570ad59d6f30663"
        case .marked: "28405ed0be7a4df49588f51d7a009261"
        case .slow: "b037a15a192747a89a9f92592ca14d1d"
        case .hung: "e65bddbb55a64f47977af9716bb1c533"
        case .probeFailed: "55c837f79d2f41faa48df587128e7b7f"
        case .probeRecovered: "f4f376269e2a4e338fb5a147fd311aba"
        case .probeImpossible: "c7d044c2ec494a8b9fa746b97f521c54"
        case .hangReported: "43acd3b0f8ca4e12b167bf3b02e718d2"
        case .credited: "c6e1fe0631bb490f82dab8ec2b4d464b"
        case .overslept: "ecadfe7cf76442ddbc33f6314f4b6240"
        case .machineResumed: "07b7c212730a41dfa2724dc5b968172d"
        case .paused: "232232d92be74b4fa183a4ca11988831"
        case .resumed: "0309e1459a534785b0cef07233ee5791"
        case .extended: "c3a79ec4aa5d40a5b8fc64e6452f6653"
        case .extensionRefused: "8bdd9882d24c4d5e92842c8980ec03be"
        case .messageRefused: "3a12353496f949ee9a436bc2f8f0859b"
        case .terminating: "a0d3e9fd583b4c7cb0d1e87ed0752f0f"
        case .killed: "625be8b805824436a7005458c4889c7e"
        case .reported: "ca45842fd2364f81b2d803b9de5301a9"
        case .named: "ea82798564734592b190fcfbb25cc10e"
        case .captureFailed: "421c4658446a469c8c46e6aec84b6261"
        case .crashed: "ba10d16d52ff4890adc09c671337773f"
        case .channelLost: "9456c2c094054c5ab35eb6e9bd4e07d5"
        case .lifecycle: "860a193751954a3f8b2602a765093013"
        case .exited: "898e4ab452bc4bf3a80a6f8898e9f6ae"
        case .leftBehind: "767774a6283f45b0be564979de9af5e5"
        case .unkillable: "5b876105e9d046289b68e84d4204195d"
        case .launchFailed: "3ee9cc25dad94cefaead6729d9eb7da5"
        case .launchRegressed: "de90463c66de43deb7945d59fc26baee"
        case .outputRefused: "07fbe44254ef4073a57130140d2cfbef"
        case .restarting: "81cb8378388848169918d0894ad42b1e"
        case .limitReached: "84f5967125744b0aa2e5629cac8e2890"
        case .reloaded: "8582fd1854c242aca205af72bc6726a0"
        case .appReloaded: "7e77a1465ecf4ce9ac1374c2f5ee95e5"
        case .reloadFailed: "bdf009d5cdbc444a8221c79a78531de3"
        case .configurationInvalid: "2c00c7112aa04b7c9e2a801a800cb705"
        case .captured: "7a90d0e6212344cc983cec49a215e847"
        case .messagesDropped: "815ab0fd9a0e49cfa36f282176bd058f"
        case .examinationsPaused: "99eac782f7544ce7bb36240bb4646843"
        }
    }

    /// `PRIORITY`.
    var priority: JournalPriority {
        switch self {
        case .unkillable: .critical
        case .killed, .crashed, .limitReached, .launchFailed, .reloadFailed, .configurationInvalid: .error
        case .reported, .hangReported, .hung, .probeFailed, .probeImpossible, .overslept, .captureFailed, .channelLost,
            .leftBehind, .launchRegressed, .outputRefused, .messagesDropped, .messageRefused,
            .examinationsPaused:
            .warning
        case .slow, .probeRecovered, .credited, .machineResumed, .paused, .extensionRefused, .exited, .restarting,
            .captured, .named:
            .notice
        case .launched, .adopted, .ready, .marked, .resumed, .extended, .lifecycle, .terminating, .reloaded,
            .appReloaded:
            .info
        }
    }

    /// Whether the main process cannot have been reaped when the entry is sent, so that its id still refers to it.
    var concernsLivingProcess: Bool {
        switch self {
        case .launched, .adopted, .ready, .marked, .slow, .hung, .hangReported, .probeFailed, .probeRecovered,
            .probeImpossible, .credited, .overslept, .machineResumed, .paused, .resumed, .extended, .extensionRefused,
            .messageRefused, .lifecycle, .terminating, .reported, .captured, .appReloaded, .reloadFailed:
            true
        case .killed, .crashed, .captureFailed, .channelLost, .exited, .leftBehind, .unkillable, .launchFailed,
            .launchRegressed, .outputRefused, .restarting, .limitReached, .reloaded, .configurationInvalid,
            .messagesDropped, .examinationsPaused, .named:
            false
        }
    }
}
