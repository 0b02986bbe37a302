// SPDX-License-Identifier: Apache-2.0

import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

/** Ways in which a Java program hangs, selected by the first argument. Prints "ready" before it hangs. */
class Hang {
    private static final Object accounts = new Object();
    private static final Object journal = new Object();
    private static final ReentrantLock orders = new ReentrantLock();
    private static final CountDownLatch isHeld = new CountDownLatch(1);

    private interface Work {
        void run() throws Exception;
    }

    private static void ready() {
        System.out.println("ready");
    }

    private static void thread(String name, Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Exception error) {
                throw new RuntimeException(error);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void holdOrders() throws Exception {
        orders.lock();
        isHeld.countDown();
        Thread.sleep(Long.MAX_VALUE);
    }

    private static void writeJournal() throws Exception {
        synchronized (journal) {
            isHeld.countDown();
            Thread.sleep(200);
            synchronized (accounts) {
                System.out.println("never");
            }
        }
    }

    private static void transfer() throws Exception {
        synchronized (accounts) {
            thread("journal", Hang::writeJournal);
            isHeld.await();
            ready();
            synchronized (journal) {
                System.out.println("never");
            }
        }
    }

    private static void saveOrder() throws Exception {
        thread("holder", Hang::holdOrders);
        isHeld.await();
        ready();
        orders.lock();
    }

    private static void fetchPrices() throws Exception {
        try (ServerSocket server = new ServerSocket(0);
                Socket socket = new Socket("127.0.0.1", server.getLocalPort())) {
            ready();
            socket.getInputStream().read();
        }
    }

    private static void takeJob() throws Exception {
        ready();
        new ArrayBlockingQueue<Integer>(1).take();
    }

    private static void computePrimes() {
        ready();
        for (long number = 1; number != 0; number = number * 31 + 7) {
            if (number == 42) {
                System.out.println(number);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "lock" -> saveOrder();
            case "deadlock" -> transfer();
            case "read" -> fetchPrices();
            case "queue" -> takeJob();
            case "spin" -> computePrimes();
            case "sleep" -> {
                ready();
                Thread.sleep(Long.MAX_VALUE);
            }
            default -> System.exit(64);
        }
    }
}
