import Foundation

/// Prints the CPU time per post in nanoseconds: the minimum of several rounds, each of which posts every name at least
/// once.
func printTable(counts: [Int]) {
    print("Nanoseconds per post; in brackets, the multiple of the first line.\n")
    print("names".padded(10) + Workload.all.map { $0.title.padded(20) }.joined())
    var first: [Double] = []
    for count in counts {
        let names = Names(count)
        let figures = Workload.all.map { workload in
            let post = workload.prepare(names)
            post(2 * count)
            let posts = max(count, 300_000)
            return (0..<7).map { _ in processorTime { post(posts) } / Double(posts) }.min() ?? .nan
        }
        if first.isEmpty { first = figures }
        let columns = zip(figures, first).map { String(format: "%.1f (%.2f)", $0, $0 / $1).padded(20) }
        print("\(count)".padded(10) + columns.joined())
    }
}

extension String {
    fileprivate func padded(_ width: Int) -> String {
        padding(toLength: max(width, count), withPad: " ", startingAt: 0)
    }
}

/// Returns the CPU time in nanoseconds that this thread uses for `body`. Other threads and processes do not count.
private func processorTime(_ body: () -> Void) -> Double {
    func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
    let start = now()
    body()
    return now() - start
}
