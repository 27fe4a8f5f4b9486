// The Java side: does with Redisson's RLock what it is told, a line each, by one thread, and answers with a line.
//
//     java Agent redis://HOST:PORT WATCHDOG_MS single|cluster
//
//     lock NAME MS           tryLock: true or false
//     hold NAME MS           lock; answers "held"; unlocks so much later, and answers "released"
//     unlock NAME            released, or the exception
//     force NAME             forceUnlock: true or false
//     contend NAME SECONDS THREADS COUNTER HISTORY      answers "done"

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public final class Agent {
	private static void say(Object answer) {
		System.out.println(answer);
		System.out.flush();
	}

	// When it asked, came in and left, in ns of the clock that all processes of a machine have.
	private static String takeTurn(RLock lock, RandomAccessFile counter) throws Exception {
		long asked = System.nanoTime();
		lock.lock();
		long entered = System.nanoTime();
		counter.seek(0);
		long n = counter.readLong();
		Thread.sleep(1);
		counter.seek(0);
		counter.writeLong(n + 1);
		long left = System.nanoTime();
		lock.unlock();
		return "java " + asked + " " + entered + " " + left;
	}

	private static void contend(RLock lock, String[] word) throws Exception {
		long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.parseLong(word[2]));
		ConcurrentLinkedQueue<String> history = new ConcurrentLinkedQueue<>();
		Thread[] threads = new Thread[Integer.parseInt(word[3])];
		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(() -> {
				try (RandomAccessFile counter = new RandomAccessFile(word[4], "rw")) {
					while (System.nanoTime() < end) {
						history.add(takeTurn(lock, counter));
						Thread.sleep(ThreadLocalRandom.current().nextInt(10));
					}
				} catch (Exception e) {
					history.add("failed: " + e);
				}
			});
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		Files.write(Path.of(word[5]), history);
	}

	private static String unlock(RLock lock) {
		try {
			lock.unlock();
			return "released";
		} catch (RuntimeException e) {
			return e.getClass().getSimpleName();
		}
	}

	private static void obey(RedissonClient client, String[] word) throws Exception {
		RLock lock = client.getLock(word[1]);
		switch (word[0]) {
		case "lock":
			say(lock.tryLock(Long.parseLong(word[2]), TimeUnit.MILLISECONDS));
			break;
		case "hold":
			lock.lock();
			say("held");
			Thread.sleep(Long.parseLong(word[2]));
			say(unlock(lock));
			break;
		case "unlock":
			say(unlock(lock));
			break;
		case "force":
			say(lock.forceUnlock());
			break;
		case "contend":
			contend(lock, word);
			say("done");
			break;
		default:
			say("what?");
		}
	}

	public static void main(String[] args) throws Exception {
		Config config = new Config().setThreads(4).setNettyThreads(4).setLockWatchdogTimeout(Long.parseLong(args[1]));
		if (args[2].equals("cluster"))
			config.useClusterServers().addNodeAddress(args[0]).setTimeout(10000);
		else
			config.useSingleServer().setAddress(args[0]).setTimeout(10000);
		RedissonClient client = Redisson.create(config);
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		say("ready");
		for (String line = in.readLine(); line != null; line = in.readLine())
			obey(client, line.split(" "));
		client.shutdown();
	}
}
