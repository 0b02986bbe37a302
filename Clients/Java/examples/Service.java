// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.watchdogd.Watchdog;

/** A service with one executor for its work, which takes part in the lifecycle. */
public final class Service implements Watchdog.Listener {
    private final List<Watchdog.Task> tasks = new ArrayList<>();
    private Watchdog watchdog;

    public static void main(String[] arguments) {
        ExecutorService loop = Executors.newSingleThreadExecutor();
        Service service = new Service();
        loop.execute(() -> {
            service.watchdog = Watchdog.attach(loop, service);
            service.watchdog.status("serving");
            service.watchdog.ready();
            if (arguments.length > 0) service.start(arguments);
        });
    }

    /** Starts a program, which must not get the channel. */
    private void start(String[] command) {
        try {
            new ProcessBuilder(command).inheritIO().start();
        } catch (java.io.IOException error) {
            System.err.println(error);
        }
    }

    @Override
    public void onTerminate() {
        watchdog.stopping();
        System.exit(0);
    }

    @Override
    public void onBackground() { tasks.add(watchdog.beginTask("save")); }

    @Override
    public void onForeground() { onExpire(); }

    @Override
    public void onExpire() {
        tasks.forEach(Watchdog.Task::close);
        tasks.clear();
    }

    @Override
    public void onEvent(Watchdog.Event event) {
        if (event.sender() != null) watchdog.status("asked by " + event.sender());
        if (!event.kind().equals("conformance-block")) return;
        try {
            Thread.sleep(Long.parseLong(event.payload()));
        } catch (InterruptedException | NumberFormatException error) {
            System.err.println(error);
        }
    }
}
