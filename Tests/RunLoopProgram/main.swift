// Usage: RunLoopProgram main|thread [PAUSE [TIMES]]
//
// Runs the run loop of the main thread or of a new thread. Enqueues TIMES (default 10,000) notifications from different
// callbacks of the run loop, after a pause of PAUSE (default 0) seconds each. Nothing else wakes the run loop. Prints
// the growth of the heap in bytes. Requires MALLOC_ARENA_MAX=1 in the environment, because only one heap is measured.
import Foundation
import Glibc
import NotifyFoundation

let arguments = CommandLine.arguments.dropFirst()
let pause = arguments.dropFirst().first.flatMap { TimeInterval($0) } ?? 0
let times = arguments.dropFirst(2).first.flatMap { Int($0) } ?? 10_000

/// A chain in which the observer of each notification enqueues the next one.
final class Chain {
    private let name = Notification.Name("next")
    private let center = CompatibleNotificationCenter()
    private let queue: CompatibleNotificationQueue
    private var step = 0
    private var usedAtFirst = 0
    private let end: (_ growth: Int) -> Void
    /// The only timer, which the chain reuses because Foundation never frees timers.
    private var timer: Timer?
    private var onTimer: () -> Void = {}
    private var observer: (any NSObjectProtocol)?

    init(end: @escaping (_ growth: Int) -> Void) {
        self.end = end
        queue = CompatibleNotificationQueue(notificationCenter: center)
        nonisolated(unsafe) let chain = self
        let timer = Timer(fire: .distantFuture, interval: 1e9, repeats: true) { _ in chain.onTimer() }
        RunLoop.current.add(timer, forMode: .default)
        self.timer = timer
        observer = center.addObserver(forName: name, object: nil, queue: nil) { _ in chain.next() }
    }

    /// Enqueues the first notification. Must be called before the run loop runs.
    func begin() {
        enqueue(.asap)
    }

    private func enqueue(
        _ style: CompatibleNotificationQueue.PostingStyle, on queue: CompatibleNotificationQueue? = nil,
        mode: RunLoop.Mode = .default
    ) {
        (queue ?? self.queue).enqueue(
            Notification(name: name), postingStyle: style, coalesceMask: [], forModes: [mode])
    }

    private func next() {
        step += 1
        // The first tenth of the steps is not measured, because these steps make permanent allocations.
        if step == times / 10 { usedAtFirst = used() }
        if step == times { return finish() }
        Thread.sleep(forTimeInterval: pause)
        let style: CompatibleNotificationQueue.PostingStyle = step % 2 == 0 ? .asap : .whenIdle
        nonisolated(unsafe) let chain = self
        switch step % 7 {
        case 0:
            onTimer = { chain.enqueue(style) }
            timer?.fireDate = Date()
        case 1:
            onTimer = { RunLoop.current.perform { chain.enqueue(style) } }
            timer?.fireDate = Date()
        case 2:
            enqueue(style, mode: .common)
        case 3:
            enqueue(style, on: CompatibleNotificationQueue(notificationCenter: center))
        case 4:
            enqueue(style)
            _ = RunLoop.current.run(mode: .default, before: Date())
        default:
            enqueue(style)
        }
    }

    private func finish() {
        let growth = used() - usedAtFirst
        onTimer = {}
        timer?.invalidate()
        if let observer { center.removeObserver(observer) }
        end(growth)
    }

    /// The end of the heap. Freed memory is reused, so the end advances only if memory leaks.
    private func used() -> Int { Int(bitPattern: sbrk(0)) }
}

if arguments.first == "main" {
    Chain { growth in
        print(growth)
        exit(0)
    }.begin()
    RunLoop.main.run()
} else {
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        nonisolated(unsafe) var growth = -1
        Chain { growth = $0 }.begin()
        // `run()` returns when no timer or source is left.
        RunLoop.current.run()
        print(growth)
        done.signal()
    }
    done.wait()
}
