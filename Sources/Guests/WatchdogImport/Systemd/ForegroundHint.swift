// SPDX-License-Identifier: Apache-2.0

/// The options that keep well-known programs in the foreground, from their manual pages.
enum ForegroundHint {
    /// The option to add to the command; nil if unknown.
    static func option(of program: some StringProtocol) -> String? {
        options[String(program.split { $0 == "/" }.last ?? "")]
    }

    private static let options: [String: String] = [
        "nginx": "-g 'daemon off;'", "sshd": "-D", "cron": "-f", "crond": "-n", "atd": "-f", "rsyslogd": "-n",
        "redis-server": "--daemonize no", "haproxy": "-W", "named": "-f", "ntpd": "-n", "chronyd": "-n",
        "apache2": "-DFOREGROUND", "httpd": "-DFOREGROUND", "dnsmasq": "--keep-in-foreground", "smbd": "--foreground",
        "nmbd": "--foreground", "dhcpd": "-f", "snmpd": "-f", "exim4": "-bdf", "lighttpd": "-D", "mosquitto": "no -d",
        "unbound": "-d", "squid": "--foreground", "dovecot": "-F", "slapd": "-d 0",
    ]
}
