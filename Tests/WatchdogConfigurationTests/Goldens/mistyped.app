Nice=5
[Ap]
ExecStrat=/usr/bin/web --name "two words
User=www-data ; not root
	Environment=A=1 B C=3
Envrionment=D=4
LimitNofile=1024
LimitNOFILE=4096:1024
UMask=0888
StandardOutput=/var/log/web.log
MemoryMax=512MB
Launch=20s
[Watchdog
[Watchdog]
Launch=20
Update=20 seconds and a bit
Terminate=0s
Readiness=listen:web:80
Enforce=never
