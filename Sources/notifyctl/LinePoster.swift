import NotifyClient

/// Posts one message for each line, pipelined, and prints the receipts and errors in the order of the lines.
struct LinePoster {
    let template: NotifyClient.OutgoingMessage
    let input: Int32
    let printer: ReceiptPrinter

    func run(_ configuration: NotifyClient.Configuration) async throws {
        // Report a lost connection even while no lines arrive: input from `tail -f`, for example, may outlive the
        // daemon.
        var configuration = configuration
        configuration.onConnectionChange = ConnectionReporter().handler
        let failure = try await withNotifyClient(configuration: configuration) { client in
            let pipeline = client.postPipeline()
            return try await withThrowingTaskGroup(of: ExitStatus?.self) { group in
                group.addTask {
                    try await post(to: pipeline)
                    return nil
                }
                group.addTask {
                    do {
                        return try await printOutcomes(of: pipeline)
                    } catch is StandardOutput.Failure {
                        // Exit with an error, because some lines may not have been posted.
                        throw CommandFailure(.failure)
                    }
                }
                // Only the printing task returns a status; wait for both tasks.
                var failure: ExitStatus?
                for try await status in group { failure = failure ?? status }
                return failure
            }
        }
        if let failure { throw CommandFailure(failure) }
    }

    private func post(to pipeline: NotifyClient.PostPipeline) async throws {
        // One byte over the maximum payload of every daemon: a longer line is truncated to this length, so its post
        // fails, and the error is printed in the order of the lines.
        var splitter = LineSplitter(maximumBytes: NotifyClient.maximumPayloadBytes + 1)
        let reader = InputReader(descriptor: input)
        while true {
            let chunk = try await reader.next()
            if chunk.isEmpty { break }
            let lines = splitter.split(chunk)
            try await pipeline.post(contentsOf: lines.lazy.map { template.with(payload: $0) })
        }
        if let last = splitter.finish() { try await pipeline.post(template.with(payload: last)) }
        pipeline.finish()
    }

    /// - Returns: The status of the first line that failed.
    private func printOutcomes(of pipeline: NotifyClient.PostPipeline) async throws -> ExitStatus? {
        var output = StandardOutput()
        var line = 0
        var failure: ExitStatus?
        for try await outcomes in pipeline.batches {
            for outcome in outcomes {
                line += 1
                switch outcome {
                case .success(let receipt):
                    output.gather { printer.append(receipt, to: &$0) }
                case .failure(let error):
                    try output.flush()
                    StandardError.write("line \(line): \(error.message)")
                    failure = failure ?? ExitStatus(error)
                    if ExitStatus(error) == .noDaemon { throw CommandFailure(.noDaemon, "stopped at line \(line)") }
                }
            }
            try output.flush()
        }
        return failure
    }
}
