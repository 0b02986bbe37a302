// SPDX-License-Identifier: Apache-2.0

package org.watchdogd;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The program's side of supervision by watchdogd: reports when it can be used, and proves that its main loop runs.
 *
 * <pre>{@code
 * var loop = Executors.newSingleThreadExecutor();
 * var watchdog = Watchdog.attach(loop, new Watchdog.Listener() {
 *     public void onTerminate() { save(); System.exit(0); }
 * });
 * loop.execute(() -> { loadWhatIsNeeded(); watchdog.ready(); });
 * }</pre>
 *
 * <p>Each ping is answered by a task of the executor, so an answer proves that the executor gets to its next task. Give
 * it the executor that does the program's work, with one thread: a Swing program passes {@code EventQueue::invokeLater}.
 *
 * <p>Without watchdogd, every method works and sends nothing. Call all methods from any thread; none blocks: threads of
 * this class read and write the channel. Messages that cannot be written wait, of most kinds only the latest.
 */
public final class Watchdog {
    /** What the program does when a message arrives. The executor calls all of it. */
    public interface Listener {
        /** The supervisor asks the program to exit, and kills it after an allowance. Called once. */
        default void onTerminate() { System.exit(0); }

        /** The program has entered the foreground; done when this returns. */
        default void onForeground() {}

        /** The program is out of sight, and may soon be suspended; done when this returns. */
        default void onBackground() {}

        /** The time for background tasks is nearly over: end them now. */
        default void onExpire() {}

        /** An event to handle; done when this returns. Of a listener without this method, the event is lost. */
        default void onEvent(Event event) {}
    }

    /**
     * An event for the program, which defines what it means.
     *
     * @param kind the kind
     * @param payload details in one line, or ""
     * @param sender the app that asked for the event; null if none did
     */
    public record Event(String kind, String payload, String sender) {}

    /** Work that should continue in the background. */
    public final class Task implements AutoCloseable {
        private final long id;
        private final AtomicBoolean isOver = new AtomicBoolean();

        private Task(long id) { this.id = id; }

        /** Ends the task. A second call does nothing. */
        @Override
        public void close() {
            if (isOver.compareAndSet(false, true)) say(() -> ends.add("END_TASK=" + id));
        }
    }

    private static final int DATAGRAM_BYTES = 4096;
    private static final int STATUS_BYTES = 1024;
    private static final int PROGRESS_BYTES = 256;
    private static final int SUMMARY_BYTES = 128;
    private static final int NAME_BYTES = 64;
    private static final int TASK_NAME_BYTES = 128;
    private static final int PAYLOAD_BYTES = 2048;
    /** Beginnings and ends of tasks that may wait; the class drops the rest, because it slows no program down. */
    private static final int WAITING_TASKS = 1024;
    /** More than a supervisor sends before it is answered. */
    private static final int WAITING_EVENTS = 32;

    private static final AtomicBoolean IS_ATTACHED = new AtomicBoolean();

    private final Executor loop;
    private final Listener listener;
    private final boolean allowsFaults;
    private final boolean startsInBackground;
    private final boolean hearsEvents;
    private final AtomicBoolean isTerminating = new AtomicBoolean();

    // Under `lock`.
    private final Object lock = new Object();
    private boolean isSupervised;
    /** What only the newest counts of, in the order in which it is written. */
    private String hello, ready, pong, thread, status, extension, progress, summary, stopping, eventDone, firstFrame;
    private String useful, stateDone;
    private final Deque<String> begins = new ArrayDeque<>();
    private final Deque<String> ends = new ArrayDeque<>();
    /** Written with `eventDone`, or the events would pass for handled ones. */
    private final Deque<String> eventsLost = new ArrayDeque<>();
    private long lastTask;
    private double tokens = 20;
    private long filledAt = System.nanoTime();
    /** The newest ping that waits for the executor. */
    private Long ping;

    // Of the executor.
    private boolean isInBackground;
    private long lastState, lastEvent;

    /** Connects to the supervisor and answers pings with tasks of the executor. */
    public static Watchdog attach(Executor loop) { return attach(loop, null); }

    /**
     * Connects to the supervisor for a program that takes part in the lifecycle and handles SIGTERM.
     *
     * @param loop runs a task at a time
     * @param listener null for a program that is only pinged; SIGTERM then keeps its effect
     * @throws IllegalStateException if called before
     */
    public static Watchdog attach(Executor loop, Listener listener) {
        if (!IS_ATTACHED.compareAndSet(false, true)) throw new IllegalStateException("attach() was called before");
        return new Watchdog(loop, listener, System.getenv());
    }

    private Watchdog(Executor loop, Listener listener, Map<String, String> environment) {
        this.loop = loop;
        this.listener = listener;
        FileDescriptor channel = channel(environment.get("WATCHDOG_CHANNEL"));
        allowsFaults = channel != null && "1".equals(environment.get("WATCHDOG_FAULTS"));
        startsInBackground = channel != null && "background".equals(environment.get("WATCHDOG_STATE"));
        isInBackground = startsInBackground;
        hearsEvents = listener != null && hearsEvents(listener);
        if (listener != null) handleSignal();
        if (channel == null) return;
        isSupervised = true;
        hello = "HELLO=1\nPID=" + ProcessHandle.current().pid() + "\nLIBRARY=watchdogd-java/1"
            + (listener == null ? "" : "\nLIFECYCLE=1") + (allowsFaults ? "\nFAULTS=1" : "");
        start("watchdogd-writer", () -> write(new FileOutputStream(channel)));
        start("watchdogd-reader", () -> read(new FileInputStream(channel)));
    }

    private void handleSignal() {
        try {
            sun.misc.Signal.handle(new sun.misc.Signal("TERM"), signal -> terminate());
        } catch (IllegalArgumentException | LinkageError error) {
            // With -Xrs, or without jdk.unsupported, SIGTERM keeps its effect; TERMINATE=1 still reaches the listener.
            System.getLogger("org.watchdogd").log(System.Logger.Level.WARNING, "this JVM cannot handle SIGTERM", error);
        }
    }

    private static void start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }

    // MARK: Saying

    /** Whether a supervisor listens. */
    public boolean isSupervised() {
        synchronized (lock) { return isSupervised; }
    }

    /** Whether the supervisor launched the program into the background. */
    public boolean startsInBackground() { return startsInBackground; }

    /** Reports that the program can be used, which completes its launch. */
    public void ready() { say(() -> ready = "READY=1"); }

    /** Reports that there is something to see. A measurement: it changes no allowance. */
    public void firstFrame() { say(() -> firstFrame = "FIRST_FRAME=1"); }

    /** Reports that the program does what it was launched for. A measurement: it changes no allowance. */
    public void useful() { say(() -> useful = "USEFUL=1"); }

    /** Reports in one line what the program is doing, for people; at most 1024 bytes. */
    public void status(String text) { say(() -> status = "STATUS=" + line(text, STATUS_BYTES)); }

    /** Sets a line that a report about this program will contain; at most 128 bytes. */
    public void summary(String text) { say(() -> summary = "SUMMARY=" + line(text, SUMMARY_BYTES)); }

    /** Reports that the program has begun to exit. */
    public void stopping() { say(() -> stopping = "STOPPING=1"); }

    /**
     * Requests more time, from now; watchdogd grants it only while the token changes.
     *
     * @param token differs from the last one only if the work has advanced, such as "412 of 1000 rows"
     */
    public void extend(Duration time, String token) {
        long microseconds = Math.max(1, time.toNanos() / 1000);
        say(() -> {
            extension = "EXTEND_TIMEOUT_USEC=" + microseconds;
            progress = "PROGRESS=" + line(token, PROGRESS_BYTES);
        });
    }

    /** Keeps the program from being suspended until a piece of work has ended; starts no work. */
    public Task beginTask(String name) {
        synchronized (lock) {
            Task task = new Task(++lastTask);
            if (begins.size() >= WAITING_TASKS) {
                task.isOver.set(true);
                return task;
            }
            begins.add("BEGIN_TASK=" + task.id + " " + line(name, TASK_NAME_BYTES));
            changed();
            return task;
        }
    }

    private void say(Runnable change) {
        synchronized (lock) {
            change.run();
            changed();
        }
    }

    private void changed() { lock.notifyAll(); }

    // MARK: Writing

    private void write(FileOutputStream stream) {
        try {
            while (true) stream.write(next());
        } catch (IOException | InterruptedException error) {
            disconnect();
        }
    }

    /** Waits until there is something to say, and returns it as a datagram. */
    private byte[] next() throws InterruptedException, IOException {
        synchronized (lock) {
            while (true) {
                if (!isSupervised) throw new IOException("the supervisor is gone");
                boolean isUrgent = hello != null || ready != null || pong != null || stopping != null || eventDone != null
                    || stateDone != null || firstFrame != null || useful != null;
                boolean isAny = isUrgent || status != null || summary != null || extension != null || !begins.isEmpty()
                    || !ends.isEmpty();
                if (isUrgent || (isAny && admits())) return encode();
                if (isAny) lock.wait(100); else lock.wait();
            }
        }
    }

    /** Twenty at once, and ten a second after that: pings must not wait behind a talkative program. */
    private boolean admits() {
        long now = System.nanoTime();
        tokens = Math.min(20, tokens + (now - filledAt) / 1e9 * 10);
        filledAt = now;
        if (tokens < 1) return false;
        tokens -= 1;
        return true;
    }

    /** No end overtakes its beginning, and a state is done after all tasks that were begun before. */
    private byte[] encode() {
        StringBuilder text = new StringBuilder();
        eventsLost.forEach(line -> text.append(line).append('\n'));
        eventsLost.clear();
        for (String line : new String[] {hello, ready, pong, thread, status, extension, progress, summary, stopping,
            eventDone, firstFrame, useful}) {
            if (line != null) text.append(line).append('\n');
        }
        hello = ready = pong = thread = status = extension = progress = summary = stopping = eventDone = null;
        firstFrame = useful = null;
        if (drain(begins, text)) {
            if (stateDone != null) text.append(stateDone).append('\n');
            stateDone = null;
            drain(ends, text);
        }
        return text.toString().getBytes(StandardCharsets.UTF_8);
    }

    private static boolean drain(Deque<String> lines, StringBuilder text) {
        int room = DATAGRAM_BYTES - 64 - text.toString().getBytes(StandardCharsets.UTF_8).length;
        while (!lines.isEmpty()) {
            room -= lines.peek().getBytes(StandardCharsets.UTF_8).length + 1;
            if (room < 0) return false;
            text.append(lines.remove()).append('\n');
        }
        return true;
    }

    private void disconnect() {
        synchronized (lock) {
            isSupervised = false;
            changed();
        }
    }

    // MARK: Reading

    private void read(FileInputStream stream) {
        // One byte more than a datagram and its NUL may have, to tell an overlong one. A read takes one datagram.
        byte[] bytes = new byte[DATAGRAM_BYTES + 2];
        try {
            for (int count; (count = stream.read(bytes)) > 0;) receive(fields(bytes, count));
        } catch (IOException | java.util.concurrent.RejectedExecutionException error) {
            // The same as its end; an executor that was shut down answers nothing any more.
        }
        disconnect();
    }

    private void receive(Map<String, String> said) {
        Long number = number(said.get("PING"));
        if (number != null) {
            boolean isFirst;
            synchronized (lock) {
                isFirst = ping == null;
                ping = number;
            }
            // One task answers all pings that arrive before it runs.
            if (isFirst) loop.execute(this::answer);
        }
        if (listener != null) {
            String state = said.get("STATE");
            Long stateId = number(said.get("STATE_ID")), eventId = number(said.get("EVENT_ID"));
            if (stateId != null && stateId != 0 && ("foreground".equals(state) || "background".equals(state))) {
                loop.execute(() -> enter("background".equals(state), stateId));
            }
            if ("1".equals(said.get("EXPIRE"))) loop.execute(listener::onExpire);
            if (eventId != null && eventId != 0 && said.containsKey("EVENT")) {
                String kind = line(said.get("EVENT"), NAME_BYTES);
                String payload = line(said.getOrDefault("PAYLOAD", ""), PAYLOAD_BYTES);
                String sender = line(said.getOrDefault("EVENT_FROM", ""), NAME_BYTES);
                loop.execute(() -> handle(new Event(kind, payload, sender.isEmpty() ? null : sender), eventId));
            }
        }
        Long hang = number(said.get("HANG_USEC"));
        if (hang != null && hang > 0 && allowsFaults) loop.execute(() -> hangOnDemand(hang));
        if ("1".equals(said.get("TERMINATE"))) terminate();
    }

    private void answer() {
        // Linux names the calling thread; the JVM does not run main() on the first one.
        String place = "";
        try {
            place = Files.readSymbolicLink(Path.of("/proc/thread-self")).toString();
        } catch (IOException error) {
            // Then the first thread is taken for the main loop.
        }
        String number = place.substring(place.lastIndexOf('/') + 1);
        boolean isFirst = place.isEmpty() || number.equals(place.substring(0, place.indexOf('/')));
        synchronized (lock) {
            pong = "PONG=" + Long.toUnsignedString(ping);
            thread = isFirst ? null : "THREAD=" + number;
            ping = null;
            changed();
        }
    }

    private void enter(boolean background, long id) {
        if (Long.compareUnsigned(id, lastState) > 0) {
            lastState = id;
            if (background != isInBackground) {
                isInBackground = background;
                if (background) listener.onBackground(); else listener.onForeground();
            }
        }
        say(() -> stateDone = "STATE_DONE=" + Long.toUnsignedString(lastState));
    }

    private void handle(Event event, long id) {
        boolean isNew = Long.compareUnsigned(id, lastEvent) > 0;
        if (isNew) {
            lastEvent = id;
            listener.onEvent(event);
        }
        say(() -> {
            if (isNew && !hearsEvents && eventsLost.size() < WAITING_EVENTS) {
                eventsLost.add("EVENT_LOST=" + Long.toUnsignedString(id));
            }
            eventDone = "EVENT_DONE=" + Long.toUnsignedString(lastEvent);
        });
    }

    /** Whether the listener has a method for events of its own. */
    private static boolean hearsEvents(Listener listener) {
        try {
            return listener.getClass().getMethod("onEvent", Event.class).getDeclaringClass() != Listener.class;
        } catch (NoSuchMethodException error) {
            throw new AssertionError(error);
        }
    }

    private void terminate() {
        if (listener == null || !isTerminating.compareAndSet(false, true)) return;
        try {
            loop.execute(listener::onTerminate);
        } catch (RejectedExecutionException error) {
            // The executor has been shut down. The signal's own effect is gone, so end as the JVM would have.
            start("watchdogd-exit", () -> System.exit(128 + 15));
        }
    }

    /** Blocks the executor at a test's request; stacks show this name. */
    private static void hangOnDemand(long microseconds) {
        try {
            Thread.sleep(microseconds / 1000, (int) (microseconds % 1000) * 1000);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    // MARK: Texts and numbers

    /** The assignments of one datagram, each key once: the first one decides. */
    private static Map<String, String> fields(byte[] bytes, int count) {
        Map<String, String> said = new HashMap<>();
        if (bytes[count - 1] == 0) count--;
        if (count > DATAGRAM_BYTES) return said;
        for (int index = 0; index < count; index++) if (bytes[index] == 0) return said;
        for (String line : new String(bytes, 0, count, StandardCharsets.UTF_8).split("[\r\n]")) {
            int equals = line.indexOf('=');
            if (equals > 0) said.putIfAbsent(line.substring(0, equals), line.substring(equals + 1));
        }
        return said;
    }

    /** ASCII digits of at most 64 bits, unsigned; null for anything else. */
    private static Long number(String text) {
        if (text == null || text.isEmpty() || text.chars().anyMatch(c -> c < '0' || c > '9')) return null;
        try {
            return Long.parseUnsignedLong(text);
        } catch (NumberFormatException error) {
            return null;
        }
    }

    /** One line within a number of bytes that ends with a whole character. */
    private static String line(String text, int limit) {
        byte[] bytes = text.replaceAll("[\n\r\0]", " ").getBytes(StandardCharsets.UTF_8);
        if (bytes.length <= limit) return new String(bytes, StandardCharsets.UTF_8);
        int end = limit;
        while (end > 0 && (bytes[end] & 0xC0) == 0x80) end--;
        return new String(bytes, 0, end, StandardCharsets.UTF_8);
    }

    // MARK: The inherited descriptor

    /** The channel; null if there is none, or this JVM cannot use it. */
    private static FileDescriptor channel(String variable) {
        Long number = number(variable);
        if (number == null || number < 3 || number > Integer.MAX_VALUE || !isChannel(number.intValue())) return null;
        try {
            // Java has sockets of this type no more than a way to adopt a descriptor. A stream of a file reads and writes
            // any, a datagram at a time.
            Field unsafeField = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
            unsafeField.setAccessible(true);
            sun.misc.Unsafe unsafe = (sun.misc.Unsafe) unsafeField.get(null);
            FileDescriptor descriptor = new FileDescriptor();
            unsafe.putInt(descriptor, unsafe.objectFieldOffset(FileDescriptor.class.getDeclaredField("fd")),
                number.intValue());
            return descriptor;
        } catch (ReflectiveOperationException | RuntimeException | LinkageError error) {
            System.getLogger("org.watchdogd").log(System.Logger.Level.WARNING, "this JVM cannot use the channel", error);
            return null;
        }
    }

    /** Whether a descriptor is a connected Unix socket of type SOCK_SEQPACKET; anything else belongs to somebody else. */
    private static boolean isChannel(int number) {
        try {
            String name = Files.readSymbolicLink(Path.of("/proc/self/fd/" + number)).toString();
            if (!name.startsWith("socket:[")) return false;
            String inode = name.substring(8, name.length() - 1);
            for (String line : Files.readString(Path.of("/proc/self/net/unix"), StandardCharsets.ISO_8859_1).split("\n")) {
                // Num RefCount Protocol Flags Type St Inode Path: 5 is SOCK_SEQPACKET, 3 is SS_CONNECTED.
                String[] columns = line.trim().split(" +");
                if (columns.length > 6 && columns[6].equals(inode)) return columns[4].equals("0005") && columns[5].equals("03");
            }
            // Of another network namespace. Only Unix sockets have this line (Linux 5.11).
            return Files.readString(Path.of("/proc/self/fdinfo/" + number)).contains("\nscm_fds:");
        } catch (IOException | RuntimeException error) {
            return false;
        }
    }
}
