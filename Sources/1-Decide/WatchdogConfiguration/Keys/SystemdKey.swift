// SPDX-License-Identifier: Apache-2.0

/// The counterparts of systemd's keys in `[Unit]`, `[Service]` and `[Install]` that watchdogd does not have.
enum SystemdKey {
    enum Counterpart {
        /// It has another name; the note explains any other difference.
        case key(ConfigurationKey, note: String?)
        /// There is none; the text explains why.
        case none(String)
    }

    /// The counterpart of a key, ignoring case; nil if systemd has no such key.
    static func counterpart(of key: String) -> Counterpart? {
        guard key.utf8.count <= 64 else { return nil }
        let name = key.lowercased()
        if let renamed = renamed[name] { return .key(renamed.key, note: renamed.note) }
        return reasons[name].map { .none($0) }
    }

    /// The section that replaces one of systemd's.
    static func counterpart(ofSection name: String) -> ConfigurationSection? {
        switch name.lowercased() {
        case "service", "unit", "install": .app
        default: nil
        }
    }

    private static let renamed: [String: (key: ConfigurationKey, note: String?)] = [
        "timeoutstartsec": (.launch, nil),
        "timeoutstopsec": (.terminate, nil),
        "timeoutsec": (.launch, "it is split into Launch= and Terminate="),
        "watchdogsec": (.update, nil),
        "type": (.readiness, "Type=notify is Readiness=notify, Type=exec is Readiness=none"),
        "restart": (.policy, "it takes always, on-failure, on-watchdog or never"),
        "restartsec": (.delay, "the first restart after a healthy run does not wait"),
        "restartmaxdelaysec": (.maxDelay, nil),
        "restartsteps": (.factor, "the delay is multiplied by it"),
        "startlimitintervalsec": (.limitInterval, nil),
        "startlimitinterval": (.limitInterval, nil),
        "startlimitburst": (.limit, nil),
        "startlimitaction": (.atLimit, "it takes stop or keep-trying"),
        "wantedby": (.enabled, "it takes yes or no"),
        "requiredby": (.enabled, "it takes yes or no"),
        "memorylimit": (.memoryMax, nil),
        "defaulttasksmax": (.tasksMax, nil),
    ]

    private static let reasons: [String: String] = {
        var reasons: [String: String] = [:]
        for (reason, keys) in withoutCounterpart {
            for key in keys.split(whereSeparator: \.isWhitespace) { reasons[key.lowercased()] = reason }
        }
        return reasons
    }()

    /// Every other key for services in systemd 252 to 257.
    private static let withoutCounterpart: [(reason: String, keys: String)] = [
        ("OnIncident= in [Watchdog] runs a shell command instead of a unit", "OnFailure"),
        (
            "apps have no dependencies and are launched at once; put what must start first in a systemd unit",
            """
            Requires Requisite Wants BindsTo BindTo Upholds Conflicts Before After OnSuccess PropagatesReloadTo
            PropagateReloadTo ReloadPropagatedFrom PropagateReloadFrom PropagatesStopTo StopPropagatedFrom PartOf
            JoinsNamespaceOf RequiresOverridable RequisiteOverridable RequiresMountsFor WantsMountsFor StopWhenUnneeded
            RefuseManualStart RefuseManualStop AllowIsolate DefaultDependencies OnSuccessJobMode OnFailureJobMode
            OnFailureIsolate IgnoreOnIsolate JobTimeoutSec JobRunningTimeoutSec JobTimeoutAction
            JobTimeoutRebootArgument SurviveFinalKillSignal CollectMode Also UpheldBy
            """
        ),
        (
            "watchdogd never acts on the machine; let systemd watch watchdogd itself",
            """
            FailureAction SuccessAction FailureActionExitStatus SuccessActionExitStatus RebootArgument
            """
        ),
        (
            "conditions are not supported; disable the app with Enabled=no",
            """
            ConditionPathExists ConditionPathExistsGlob ConditionPathIsDirectory ConditionPathIsSymbolicLink
            ConditionPathIsMountPoint ConditionPathIsReadWrite ConditionPathIsEncrypted ConditionPathIsSocket
            ConditionDirectoryNotEmpty ConditionFileNotEmpty ConditionFileIsExecutable ConditionNeedsUpdate
            ConditionFirstBoot ConditionArchitecture ConditionFirmware ConditionVirtualization ConditionHost
            ConditionKernelCommandLine ConditionKernelVersion ConditionVersion ConditionCredential ConditionSecurity
            ConditionCapability ConditionACPower ConditionMemory ConditionCPUFeature ConditionCPUs ConditionEnvironment
            ConditionUser ConditionGroup ConditionControlGroupController ConditionOSRelease ConditionMemoryPressure
            ConditionCPUPressure ConditionIOPressure ConditionKernelModuleLoaded AssertPathExists AssertPathExistsGlob
            AssertPathIsDirectory AssertPathIsSymbolicLink AssertPathIsMountPoint AssertPathIsReadWrite
            AssertPathIsEncrypted AssertPathIsSocket AssertDirectoryNotEmpty AssertFileNotEmpty AssertFileIsExecutable
            AssertNeedsUpdate AssertFirstBoot AssertArchitecture AssertFirmware AssertVirtualization AssertHost
            AssertKernelCommandLine AssertKernelVersion AssertVersion AssertCredential AssertSecurity AssertCapability
            AssertACPower AssertMemory AssertCPUFeature AssertCPUs AssertEnvironment AssertUser AssertGroup
            AssertControlGroupController AssertOSRelease AssertMemoryPressure AssertCPUPressure AssertIOPressure
            AssertKernelModuleLoaded ExecCondition
            """
        ),
        ("it is a note to readers; write it as a comment", "Documentation SourcePath"),
        ("an app has one name, that of its file; a symbolic link gives it another", "Alias DefaultInstance"),
        (
            "the program stays in the foreground as the app's main process, and the app ends with it",
            "PIDFile GuessMainPID RemainAfterExit ExitType NonBlocking BusName"
        ),
        (
            "an app ends by TERMINATE=1 on its channel and SIGTERM, then by SIGKILL with all its processes once Terminate= is over",
            """
            ExecStop ExecStopPost KillMode KillSignal RestartKillSignal FinalKillSignal SendSIGKILL SendSIGHUP
            WatchdogSignal TimeoutAbortSec TimeoutStopFailureMode TimeoutStartFailureMode TimeoutCleanSec
            """
        ),
        ("do this in the program itself, or in a separate app", "ExecStartPost"),
        ("an app may run indefinitely", "RuntimeMaxSec RuntimeRandomizedExtraSec"),
        (
            "every exit code except 0 is a failure",
            "SuccessExitStatus RestartPreventExitStatus RestartForceExitStatus RestartMode"
        ),
        ("messages are accepted from all processes of the app", "NotifyAccess"),
        (
            "no descriptors are passed to the app or kept for it",
            "Sockets FileDescriptorStoreMax FileDescriptorStorePreserve OpenFile"
        ),
        (
            "the kernel chooses the process to kill; see [Restart] LimitMemory=",
            """
            OOMPolicy ManagedOOMSwap ManagedOOMMemoryPressure ManagedOOMMemoryPressureLimit
            ManagedOOMMemoryPressureDurationSec ManagedOOMPreference
            """
        ),
        ("use the command prefix + instead", "PermissionsStartOnly RootDirectoryStartOnly"),
        (
            "name the variables with Environment= or EnvironmentFile=",
            "PassEnvironment UnsetEnvironment"
        ),
        ("standard input is /dev/null", "StandardInput StandardInputText StandardInputData"),
        ("an app has no terminal", "TTYPath TTYReset TTYVHangup TTYVTDisallocate TTYRows TTYColumns"),
        (
            "an app's entries in the journal carry its name in WATCHDOGD_APP=; the rest is for journald to configure",
            """
            SyslogIdentifier SyslogFacility SyslogLevel SyslogLevelPrefix LogLevelMax LogRateLimitIntervalSec
            LogRateLimitBurst LogExtraFields LogFilterPatterns LogNamespace
            """
        ),
        (
            "for the cgroup, only CPUQuota=, MemoryMax= and TasksMax= can be set; put the rest in a systemd unit",
            """
            Slice AllowedCPUs StartupAllowedCPUs AllowedMemoryNodes StartupAllowedMemoryNodes CPUAccounting CPUWeight
            StartupCPUWeight CPUShares StartupCPUShares CPUQuotaPeriodSec MemoryAccounting MemoryMin DefaultMemoryMin
            DefaultMemoryLow DefaultStartupMemoryLow MemoryLow StartupMemoryLow MemoryHigh StartupMemoryHigh
            StartupMemoryMax MemorySwapMax StartupMemorySwapMax MemoryZSwapMax StartupMemoryZSwapMax
            MemoryZSwapWriteback MemoryPressureWatch MemoryPressureThresholdSec DeviceAllow DevicePolicy IOAccounting
            IOWeight StartupIOWeight IODeviceWeight IOReadBandwidthMax IOWriteBandwidthMax IOReadIOPSMax IOWriteIOPSMax
            IODeviceLatencyTargetSec BlockIOAccounting BlockIOWeight StartupBlockIOWeight BlockIODeviceWeight
            BlockIOReadBandwidth BlockIOWriteBandwidth TasksAccounting Delegate DelegateSubgroup DisableControllers
            IPAccounting IPAddressAllow IPAddressDeny IPIngressFilterPath IPEgressFilterPath BPFProgram SocketBindAllow
            SocketBindDeny RestrictNetworkInterfaces NFTSet CoredumpReceive
            """
        ),
        (
            "for scheduling, only Nice= can be set; put the rest in a systemd unit",
            """
            IOSchedulingClass IOSchedulingPriority CPUSchedulingPolicy CPUSchedulingPriority CPUSchedulingResetOnFork
            CPUAffinity NUMAPolicy NUMAMask TimerSlackNSec
            """
        ),
        (
            "create it beforehand, with tmpfiles.d(5) or with ExecStartPre=+",
            """
            RuntimeDirectory RuntimeDirectoryMode RuntimeDirectoryPreserve StateDirectory StateDirectoryMode
            StateDirectoryAccounting StateDirectoryQuota CacheDirectory CacheDirectoryMode CacheDirectoryAccounting
            CacheDirectoryQuota LogsDirectory LogsDirectoryMode LogsDirectoryAccounting LogsDirectoryQuota
            ConfigurationDirectory ConfigurationDirectoryMode
            """
        ),
        (
            "put secrets in a file that only the app's user can read",
            """
            SetCredential SetCredentialEncrypted LoadCredential LoadCredentialEncrypted ImportCredential
            """
        ),
        (
            "let systemd confine apps; watchdogd supports only NoNewPrivileges=",
            """
            RootDirectory RootImage RootImageOptions RootImagePolicy MountImagePolicy ExtensionImagePolicy RootEphemeral
            RootHash RootHashSignature RootVerity ExtensionDirectories ExtensionImages MountImages DynamicUser RemoveIPC
            SecureBits CapabilityBoundingSet AmbientCapabilities KeyringMode ProtectProc ProcSubset SystemCallFilter
            SystemCallArchitectures SystemCallErrorNumber SystemCallLog MemoryDenyWriteExecute RestrictNamespaces
            RestrictRealtime RestrictSUIDSGID RestrictAddressFamilies LockPersonality RestrictFileSystems
            ReadWriteDirectories ReadOnlyDirectories InaccessibleDirectories ReadWritePaths ReadOnlyPaths
            InaccessiblePaths ExecPaths NoExecPaths ExecSearchPath BindPaths BindReadOnlyPaths TemporaryFileSystem
            PrivateTmp PrivateDevices ProtectKernelTunables ProtectKernelModules ProtectKernelLogs ProtectClock
            ProtectControlGroups ProtectControlGroupsEx NetworkNamespacePath IPCNamespacePath PrivateNetwork PrivateUsers
            PrivateUsersEx PrivateTmpEx PrivatePIDs PrivateMounts PrivateIPC PrivateBPF ProtectSystem ProtectHome
            MountFlags MountAPIVFS BindLogSockets Personality PAMName SELinuxContext AppArmorProfile SmackProcessLabel
            ProtectHostname ProtectHostnameEx SetLoginEnvironment
            """
        ),
        ("every signal has its default effect in an app", "IgnoreSIGPIPE"),
        (
            "it cannot be set for an app; if the app needs it, run the app under systemd",
            "CoredumpFilter UtmpIdentifier UtmpMode USBFunctionDescriptors USBFunctionStrings MemoryKSM"
        ),
    ]
}
