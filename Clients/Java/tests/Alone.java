// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.watchdogd.Watchdog;

/** Attaches without a method for events; without an argument, shuts its executor down and goes on on another thread. */
public final class Alone {
    private Alone() { }

    public static void main(String[] arguments) throws InterruptedException {
        ExecutorService loop = Executors.newSingleThreadExecutor();
        Watchdog watchdog = Watchdog.attach(loop, new Watchdog.Listener() {
            @Override public void onTerminate() { System.exit(0); }
        });
        if (arguments.length > 0) loop.execute(watchdog::ready); else loop.shutdown();
        System.out.println("attached");
        Thread.sleep(600_000);
    }
}
