[App]
ExecStart=/usr/bin/web \
  # a comment
  --instance %i \
  --date '%Y' --home $HOME/x \
  "never closed
Description=ünï %Q
Nice=1
Nice=2
CPUQuota=50

[Watchdog]
Readiness=probe
ProbeBody=ok

[Restart]
Policy=never
Delay=5min
MaxDelay=1min
