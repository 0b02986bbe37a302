-- What a watchdogd of format 1 kept: the launches of two apps.
PRAGMA application_id = 195948557;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE app (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO "app" VALUES(1,'app');
INSERT INTO "app" VALUES(2,'other');
CREATE TABLE day (
    app INTEGER NOT NULL, day INTEGER NOT NULL, version INTEGER NOT NULL, host INTEGER NOT NULL,
    kind TEXT NOT NULL, cause TEXT NOT NULL, temperature TEXT NOT NULL, count INTEGER NOT NULL,
    first_time INTEGER NOT NULL, last_time INTEGER NOT NULL, buckets BLOB NOT NULL,
    PRIMARY KEY (app, day, version, host, kind, cause, temperature)) WITHOUT ROWID;
INSERT INTO "day" VALUES(1,20783,1,1,'launch','run','cold',1,1795692406223751,1795692406223751,X'C00301');
INSERT INTO "day" VALUES(1,20783,1,1,'launch','run','warm',1,1795692405330191,1795692405330191,X'C80301');
INSERT INTO "day" VALUES(1,20783,2,1,'launch','run','unknown',1,1795692406971037,1795692406971037,X'');
INSERT INTO "day" VALUES(2,20783,3,1,'launch','run','unknown',1,1795692407133848,1795692407133848,X'');
CREATE TABLE hang (
    id INTEGER PRIMARY KEY, app INTEGER NOT NULL, time INTEGER NOT NULL, duration INTEGER NOT NULL,
    event TEXT NOT NULL, is_fatal INTEGER NOT NULL, version INTEGER NOT NULL);
CREATE TABLE host (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO "host" VALUES(1,'alpha');
CREATE TABLE launch (
    id INTEGER PRIMARY KEY, app INTEGER NOT NULL, time INTEGER NOT NULL, kind TEXT NOT NULL,
    outcome TEXT NOT NULL, cause TEXT NOT NULL, source TEXT, temperature TEXT NOT NULL, version INTEGER NOT NULL,
    host INTEGER NOT NULL, exec INTEGER, hello INTEGER, first_frame INTEGER, ready INTEGER, useful INTEGER,
    cpu_time INTEGER, major_faults INTEGER, bytes_read INTEGER);
INSERT INTO "launch" VALUES(1,1,1795692405330191,'launch','ready','run','notify','warm',1,1,8422,NULL,NULL,332824,NULL,93749,0,0);
INSERT INTO "launch" VALUES(2,1,1795692406223751,'launch','ready','run','notify','cold',1,1,19507,NULL,NULL,268235,NULL,75696,0,8192);
INSERT INTO "launch" VALUES(3,1,1795692406971037,'launch','ended','run',NULL,'unknown',2,1,2349,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "launch" VALUES(4,2,1795692407133848,'launch','ended','run',NULL,'unknown',3,1,4368,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE termination (
    id INTEGER PRIMARY KEY, app INTEGER NOT NULL, time INTEGER NOT NULL, reason TEXT NOT NULL,
    is_foreground INTEGER NOT NULL, event TEXT, status TEXT, version INTEGER NOT NULL);
INSERT INTO "termination" VALUES(1,1,1795692406004565,'normal',1,NULL,'exited with code 0',1);
INSERT INTO "termination" VALUES(2,1,1795692406818720,'normal',1,NULL,'exited with code 0',1);
INSERT INTO "termination" VALUES(3,1,1795692406977006,'abnormal',1,NULL,'exited with code 3',2);
INSERT INTO "termination" VALUES(4,2,1795692407345002,'normal',1,NULL,'exited with code 0',3);
CREATE TABLE version (
    id INTEGER PRIMARY KEY, app INTEGER NOT NULL, build_id TEXT NOT NULL, package TEXT NOT NULL,
    package_version TEXT NOT NULL, first_time INTEGER NOT NULL, reported INTEGER NOT NULL DEFAULT 0,
    UNIQUE (app, build_id, package, package_version));
INSERT INTO "version" VALUES(1,1,'a7516ae81afc8457cbb59039c47cb6428c978064','','',1795692405330191,0);
INSERT INTO "version" VALUES(2,1,'be6397ddffc3e384c505d7deab3bed190c884df9','dash','0.5.12-2',1795692406971037,0);
INSERT INTO "version" VALUES(3,2,'be6397ddffc3e384c505d7deab3bed190c884df9','dash','0.5.12-2',1795692407133848,0);
CREATE INDEX launch_by_time ON launch (app, time);
CREATE INDEX hang_by_time ON hang (app, time);
CREATE INDEX termination_by_time ON termination (app, time);
COMMIT;
