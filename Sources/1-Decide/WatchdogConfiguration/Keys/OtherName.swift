// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The names that other tools have for keys, and the words that come to mind first.
enum OtherName {
    /// The key that somebody probably means who writes `name`; nil if there is no telling.
    static func key(for name: String) -> ConfigurationKey? {
        guard name.utf8.count <= Similarity.longest else { return nil }
        let plain = String(name.lowercased().filter { $0.isLetter || $0.isNumber })
        return keys[plain]
    }

    /// All names.
    static var all: [Substring] { names.values.flatMap { $0.split(whereSeparator: \.isWhitespace) } }

    private static let keys: [String: ConfigurationKey] = {
        var keys: [String: ConfigurationKey] = [:]
        for (key, names) in names {
            for name in names.split(whereSeparator: \.isWhitespace) { keys[String(name)] = key }
        }
        return keys
    }()

    /// Names in small letters, without anything between their words.
    private static let names: [ConfigurationKey: String] = [
        // supervisord, runit, circus and pm2 for the program; compose and Kubernetes for all else.
        .execStart: "exec cmd command commandline program script run start startcommand args arguments entrypoint",
        .execStartPre: "prestart prestartcommand startpre init",
        .execReload: "reloadcommand reloadsignal",
        .workingDirectory: "cwd dir directory chdir workdir workingdir",
        .environment: "env envs envvars variables",
        .environmentFile: "envfile envfiles",
        .user: "username uid runas runasuser",
        .group: "groupname gid runasgroup",
        .standardOutput: "log logs logfile logging output stdout stdoutlogfile stdoutfile outfile",
        .standardError: "stderr stderrlogfile stderrfile errfile errorlog redirectstderr",
        .memoryMax: "memory memorylimit memlimit maxmemory maxmemoryrestart",
        .cpuQuota: "cpu cpus cpulimit",
        .tasksMax: "pidslimit maxtasks maxthreads",
        .enabled: "autostart disabled enable",
        .launch: "startsecs starttimeout startuptimeout startperiod launchtimeout readytimeout timeout",
        .terminate: "stopwaitsecs stoptimeout stopgraceperiod killtimeout kill exittimeout grace graceperiod "
            + "shutdowntimeout terminationgraceperiodseconds",
        .update: "hang hangs hangtimeout heartbeat heartbeattimeout keepalive pingtimeout watchdog watchdogtimeout",
        .ping: "pinginterval heartbeatinterval",
        .readiness: "ready notify readinessprobe startupprobe",
        .probe: "healthcheck health healthchecktest healthcheckcmd livenessprobe liveness check test probeurl "
            + "probehttp url http tcp port httpget tcpsocket",
        .probeInterval: "interval checkinterval healthcheckinterval period periodseconds probeperiod",
        .probeTimeout: "healthchecktimeout checktimeout timeoutseconds",
        .probeThreshold: "retries healthcheckretries failurethreshold threshold probefailures proberetries probecount "
            + "probelimit failures",
        .probeStatus: "probecode probecodes statuscode expectedstatus httpstatus",
        .probeBody: "proberesponse probetext responsebody",
        .onIncident: "onhang onkill oncrash onincidentcommand hook hooks notification alert",
        .policy: "autorestart respawn restartpolicy",
        .delay: "restartdelay backoff backoffdelay restartpause",
        .maxDelay: "maxbackoff backofflimit",
        .limit: "maxrestarts startretries restartlimit maxretries maxattempts",
        .limitInterval: "restartwindow window",
    ]
}
