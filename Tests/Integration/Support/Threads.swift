import Foundation

/// Runs `body` on so many threads of their own, numbered from 0, and returns what each gave. The tests' own threads are
/// few, and not for blocking.
func onThreads<Result: Sendable>(
    _ count: Int, within limit: Duration = .seconds(300), _ body: @escaping @Sendable (Int) throws -> Result
) async throws -> [Result] {
    let results = Watched<[Int: Swift.Result<Result, any Error>]>([:])
    for number in 0..<count {
        Thread.detachNewThread {
            let result = Swift.Result { try body(number) }
            results.update { $0[number] = result }
        }
    }
    let finished = try await results.wait("\(count) threads", within: limit) { $0.count == count ? $0 : nil }
    return try (0..<count).map { number in
        guard let result = finished[number] else { preconditionFailure("all threads are there") }
        return try result.get()
    }
}
