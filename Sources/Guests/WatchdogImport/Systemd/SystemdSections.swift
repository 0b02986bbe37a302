// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// The sections of systemd's keys, and the keys that require a value: systemd.unit(5).
enum SystemdSections {
    /// The right section of a key; nil if it is valid in this one, or unknown to systemd.
    static func section(of key: String, unlike section: String) -> String? {
        let right: String
        if install.contains(key) {
            right = "Install"
        } else if unit.contains(key) || key.hasPrefix("Condition") || key.hasPrefix("Assert") {
            right = "Unit"
        } else if ConfigurationKey(rawValue: key) != nil || service.contains(key)
            || UnitFile.reasonForLack(ofKey: key) != nil
        {
            right = "Service"
        } else {
            return nil
        }
        // systemd still accepts these in their former section.
        return section == right || section == "Service" && formerly.contains(key) ? nil : right
    }

    private static let install: Set<String> = [
        "Alias", "WantedBy", "RequiredBy", "UpheldBy", "Also", "DefaultInstance",
    ]

    private static let unit: Set<String> = [
        "Description", "Documentation", "SourcePath", "Requires", "Requisite", "Wants", "BindsTo", "BindTo", "Upholds",
        "Conflicts", "Before", "After", "OnSuccess", "OnFailure", "PropagatesReloadTo", "PropagateReloadTo",
        "ReloadPropagatedFrom", "PropagateReloadFrom", "PropagatesStopTo", "StopPropagatedFrom", "PartOf",
        "JoinsNamespaceOf", "RequiresOverridable", "RequisiteOverridable", "RequiresMountsFor", "WantsMountsFor",
        "StopWhenUnneeded", "RefuseManualStart", "RefuseManualStop", "AllowIsolate", "DefaultDependencies",
        "OnSuccessJobMode", "OnFailureJobMode", "OnFailureIsolate", "IgnoreOnIsolate", "JobTimeoutSec",
        "JobRunningTimeoutSec", "JobTimeoutAction", "JobTimeoutRebootArgument", "StartLimitIntervalSec",
        "StartLimitInterval", "StartLimitBurst", "StartLimitAction", "FailureAction", "SuccessAction",
        "FailureActionExitStatus", "SuccessActionExitStatus", "RebootArgument", "CollectMode",
        "SurviveFinalKillSignal",
    ]

    /// Keys that watchdogd has under another name.
    private static let service: Set<String> = [
        "Type", "Restart", "RestartSec", "RestartMaxDelaySec", "RestartSteps", "TimeoutSec", "TimeoutStartSec",
        "TimeoutStopSec", "WatchdogSec", "ReloadSignal", "MemoryLimit",
    ]

    private static let formerly: Set<String> = [
        "StartLimitInterval", "StartLimitBurst", "StartLimitAction", "FailureAction", "RebootArgument",
    ]

    /// Whether systemd rejects an empty value and keeps the earlier one: true for words, times and numbers.
    static func needsValue(_ key: String) -> Bool {
        needingValue.contains(key) || key.hasPrefix("Limit") || key.hasSuffix("DirectoryMode")
    }

    private static let needingValue: Set<String> = [
        "Type", "Restart", "RestartSec", "RestartMaxDelaySec", "RestartSteps", "WatchdogSec", "TimeoutSec",
        "TimeoutStartSec", "TimeoutStopSec", "StandardOutput", "StandardError", "UMask", "KillSignal", "ReloadSignal",
        "NotifyAccess", "NoNewPrivileges", "StartLimitBurst", "StartLimitInterval", "StartLimitIntervalSec",
        "DynamicUser",
    ]
}
