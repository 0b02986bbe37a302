// SPDX-License-Identifier: Apache-2.0

/// Command names of other tools.
enum OtherNames {
    /// What systemctl, docker and others call these commands.
    static let commands = [
        "start": "launch", "stop": "terminate", "kill": "terminate", "ps": "list", "ls": "list", "list-units": "list",
        "log": "logs", "show": "status", "inspect": "status", "is-active": "ping", "is-failed": "ping",
        "stats": "top", "daemon-reload": "reload", "reexec": "reload", "up": "serve", "daemon": "serve",
        "reports": "report", "verify": "check", "validate": "check", "pause": "suspend", "unpause": "resume",
        "freeze": "suspend", "thaw": "resume",
    ]

    /// The same for the commands of `watchdogd report`.
    static let ofReports = ["ls": "list", "rm": "delete", "cat": "show", "view": "open", "compare": "diff"]

    /// What to do instead of a command that has no counterpart.
    static func advice(on command: String) -> String? {
        switch command {
        case "version": "did you mean 'watchdogd --version'?"
        case "enable", "disable", "mask", "unmask":
            "set Enabled=yes or Enabled=no in the app's file, then use 'watchdogd reload'"
        case "cat", "edit", "create":
            "an app is a file, /etc/watchdogd/apps.d/NAME.app; 'watchdogd check' checks it"
        case "rm", "remove", "delete":
            "remove the app's file, /etc/watchdogd/apps.d/NAME.app, then use 'watchdogd reload'"
        case "journal", "journalctl": "use 'journalctl -t watchdogd', or 'watchdogd logs' for the output of apps"
        default: nil
        }
    }
}
