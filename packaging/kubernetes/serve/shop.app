[App]
ExecStart=/usr/bin/shop
StandardOutput=inherit

[Watchdog]
Terminate=8s
