# Somebody renamed a unit of systemd.
[Unit]
Description=The web server
Documentation=https://example.org
After=network.target

[Service]
Type=notify
ExecStart=/usr/sbin/web --port 80
ExecStop=/usr/sbin/web --stop
User=www-data
Restart=on-failure
RestartSec=5
WatchdogSec=30
TimeoutStopSec=1min
PrivateTmp=yes
LimitNOFILE=65536
SyslogIdentifer=web

[Install]
WantedBy=multi-user.target
