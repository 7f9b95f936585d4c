import Foundation

/// Does the work once and returns its cost in nanoseconds.
typealias Contender = () -> Double

/// A comparison of two implementations of the same work, and the required ratio.
struct Case {
    enum Budget {
        /// The cost of the other implementation divided by the cost of ours is at least this.
        case atLeast(Double)
        /// The cost of our implementation divided by the cost of the other is at most this.
        case atMost(Double)
    }

    let title: String
    let budget: Budget
    /// Creates the contenders, ours first. Called when the case begins. The contenders are released before the next
    /// case.
    let prepare: () throws -> (Contender, Contender)

    init(_ title: String, _ budget: Budget, prepare: @escaping () throws -> (Contender, Contender)) {
        self.title = title
        self.budget = budget
        self.prepare = prepare
    }
}

extension Case {
    /// The results of several rounds. The minimum is the result least disturbed by other processes.
    private struct Sample {
        var figures: [Double] = []

        var least: Double { figures.min() ?? .nan }
        var median: Double { figures.isEmpty ? .nan : figures.sorted()[figures.count / 2] }
    }

    static func printTitles() {
        print("\("".padded(to: 65)) ours: least, median   other: least, median   ratio: least, median   required")
    }

    /// Runs the contenders alternately, so that a disturbance affects both, and prints a line of results.
    ///
    /// - Returns: Whether the ratio of the minima is as required.
    func run(rounds: Int) throws -> Bool {
        let (ours, other) = try prepare()
        var ourSample = Sample()
        var otherSample = Sample()
        for round in 0...rounds {
            let figures =
                round % 2 == 0
                ? (ours(), other())
                : {
                    let first = other(); return (ours(), first)
                }()
            // The first round warms up.
            guard round > 0 else { continue }
            ourSample.figures.append(figures.0)
            otherSample.figures.append(figures.1)
        }
        let least = ratio(ourSample.least, otherSample.least)
        let median = ratio(ourSample.median, otherSample.median)
        let columns = [ourSample.least, ourSample.median, otherSample.least, otherSample.median]
            .map { String(format: "%10.1f", $0) }.joined(separator: " ")
        let asked =
            switch budget {
            case .atLeast(let budget): (text: ">= \(budget)", holds: least >= budget)
            case .atMost(let budget): (text: "<= \(budget)", holds: least <= budget)
            }
        print(
            title.padded(to: 64), columns, String(format: "%10.2f %10.2f", least, median), "", asked.text.padded(to: 8),
            asked.holds ? "yes" : "NO")
        return asked.holds
    }

    private func ratio(_ ours: Double, _ other: Double) -> Double {
        switch budget {
        case .atLeast: other / ours
        case .atMost: ours / other
        }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        padding(toLength: max(width, count), withPad: " ", startingAt: 0)
    }
}

// MARK: - Clocks

/// Returns the CPU time in nanoseconds that this thread uses for `body`. Other threads and processes do not count.
func processorTime(_ body: () -> Void) -> Double {
    let start = nanoseconds(CLOCK_THREAD_CPUTIME_ID)
    body()
    return nanoseconds(CLOCK_THREAD_CPUTIME_ID) - start
}

/// Returns the elapsed time of `body` in nanoseconds.
func time(_ body: () -> Void) -> Double {
    let start = nanoseconds(CLOCK_MONOTONIC)
    body()
    return nanoseconds(CLOCK_MONOTONIC) - start
}

private func nanoseconds(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

// MARK: - Observers

/// Counts calls. Not thread-safe.
final class Tally: @unchecked Sendable {
    private let memory = UnsafeMutablePointer<Int>.allocate(capacity: 1)

    init() { memory.initialize(to: 0) }
    deinit { memory.deallocate() }

    var count: Int { memory.pointee }

    @inline(__always)
    func add() { memory.pointee &+= 1 }
}
