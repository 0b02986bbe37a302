# An app of watchdogd, with every available setting.
#
# Copy this to /etc/watchdogd/apps.d/NAME.app (or ~/.config/watchdogd/apps.d/NAME.app), set ExecStart= and remove the "#" before
# what you want to change. Lines that begin with "#" and a key show the default; where there is none, an example, marked
# with "for example". Single settings can also be changed by drop-ins, NAME.app.d/*.conf. Check what you wrote:
#
#     watchdogd check /etc/watchdogd/apps.d
#
# The syntax is that of systemd units; settings that systemd also has keep their names. See docs/configuration.md.

[App]
# The program and its arguments. It stays in the foreground.
ExecStart=/usr/bin/sleep infinity

# What runs before it, and what makes it reload its own configuration, for example:
#ExecStartPre=+/usr/bin/install -d -o www-data /run/web
#ExecReload=/usr/bin/kill -HUP $MAINPID

# Whether watchdogd launches it when it starts.
#Enabled=yes

# A description and version for people, for example:
#Description=The web server of %H
#Version=1.0

# The user and groups it runs as, for example:
#User=www-data
#Group=www-data
#SupplementaryGroups=ssl-cert
#NoNewPrivileges=no

# Where it runs and what is in its environment, for example:
#WorkingDirectory=/srv/web
#Environment="GREETING=Hello, world" PORT=8080
#EnvironmentFile=-/etc/default/%p

# Where its output goes: journal, inherit, null, file:PATH, append:PATH, truncate:PATH.
#StandardOutput=journal
#StandardError=inherit

# The process.
#UMask=0022
# For example:
#Nice=5
#OOMScoreAdjust=200

# Limits of each process, soft:hard or one value for both, for example:
#LimitNOFILE=1024:524288
#LimitCORE=infinity
#LimitCPU=1h
#LimitFSIZE=10G
#LimitDATA=4G
#LimitSTACK=8M
#LimitRSS=infinity
#LimitAS=16G
#LimitNPROC=512
#LimitMEMLOCK=8M
#LimitLOCKS=infinity
#LimitSIGPENDING=4096
#LimitMSGQUEUE=800K
#LimitNICE=-5
#LimitRTPRIO=10
#LimitRTTIME=200ms

# Limits of all its processes together, where watchdogd has the cgroup controllers, for example:
#CPUQuota=150%
#MemoryMax=2G
#TasksMax=512

[Watchdog]
# How long it may take to become ready, to answer on its main loop, and to exit.
#Launch=20s
#Update=10s
#Terminate=5s

# How long ExecReload= may take, until the app has read its own configuration again.
#Reload=20s

#Ping=1s

# How it reports that it is ready: auto, channel, notify, listen:ADDR, exec:CMD, probe, none.
#Readiness=auto

# How watchdogd probes whether it responds: tcp:ADDR, unix:PATH, http://ADDR/PATH, exec:CMD. For example:
#Probe=http://localhost:8080/health
#ProbeInterval=3s
#ProbeTimeout=3s
#ProbeThreshold=3
#ProbeStatus=200-399
# For example:
#ProbeBody=ok

# For apps that take part in the lifecycle: how long it may take to go to the background, and to stay there with open tasks,
# which are asked to end some time before; after how long without a task it is suspended, or off.
#EnterBackground=5s
#Background=30s
#Expiration=5s
#SuspendAfter=5s

# At what age an open task is reported, and how many tasks may be open at once.
#TaskWarning=30s
#TaskLimit=1000

# CPU time for one stay in the background; a span, or infinity.
#BackgroundCPU=infinity

# Whether it is launched into the background, and how much time and CPU time the launch may take.
#LaunchInBackground=no
#BackgroundLaunch=1min
#BackgroundLaunchCPU=5s

# What to do when an allowance is exhausted: kill, report.
#Enforce=kill

# From how long on a hang that ends by itself has a report; off for none.
#HangReports=1s

# Which unexpected exits get a report: all, signals (not exit codes), off.
#CrashReports=all

# Whether the kernel writes a core file when a signal ends it, from which the report takes the stacks; removed then.
#CrashStacks=no

# Whether the kernel records how the program starts, for the phases of a launch in the report.
#RecordLaunches=yes

# What runs after the report of a kill or crash is written; a shell command, which finds the report in $WATCHDOGD_REPORT. For example:
#OnIncident=/usr/share/watchdogd/hooks/mail admin@localhost

# How long that command may run before it is killed, at most 1h.
#OnIncidentTimeout=30s

# Which reports it runs for: failures (kills and crashes), or all (also hangs that end by themselves).
#OnIncidentFor=failures

# Whether the journal entry of an incident carries the crash log.
#ReportsInJournal=yes

# How far it may extend an allowance by itself, and whether it has to show progress for that.
#ExtensionCap=10min
#AllowBlindExtension=no

# How long its reports are kept, for example:
#KeepReports=30d
# Whether the stacks of incidents are kept beside the reports, for 'watchdogd report core': memory of the app, secrets included.
#KeepStacks=no

# What all allowances and the time between pings are multiplied by; for tests and slow machines.
#TimeScale=1

[Restart]
# After which ends it is launched again: always, on-failure, on-watchdog, never.
#Policy=on-failure

# The first restart after a healthy run is immediate; further ones wait, each time longer.
#Delay=100ms
#Factor=2
#MaxDelay=1min
#Reset=1min

# How many restarts are too many, and what follows then: stop, keep-trying.
#Limit=10
#LimitInterval=10min
#AtLimit=keep-trying
# For single causes, for example:
#LimitLaunch=5
#LimitHang=3
#LimitCrash=5
#LimitExit=20
#LimitMemory=2
