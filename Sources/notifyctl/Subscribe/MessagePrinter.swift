import NotifyClient

/// Prints messages, and acknowledges the written ones.
struct MessagePrinter {
    let format: MessageFormat

    /// Prints messages until their end or the cancellation of the task. Throws if a write fails or is
    /// interrupted.
    ///
    /// - Returns: Whether there were messages.
    @discardableResult
    func print<Batches: AsyncSequence>(
        _ batches: Batches, until interruption: Interruption
    ) async throws -> Bool where Batches.Element == NotificationClient.Subscription.Batch {
        var output = StandardOutput()
        var isEmpty = true
        for try await batch in batches {
            for gap in batch.gaps { StandardError.write("\(gap)") }
            var rest = batch[...]
            if !rest.isEmpty { isEmpty = false }
            while !rest.isEmpty { rest = try await printSome(of: rest, to: &output, until: interruption) }
        }
        return !isEmpty
    }

    /// Prints messages until the output buffer is full, and writes the buffer.
    ///
    /// - Returns: The remaining messages.
    private func printSome(
        of messages: Slice<NotificationClient.Subscription.Batch>, to output: inout StandardOutput,
        until interruption: Interruption
    ) async throws -> Slice<NotificationClient.Subscription.Batch> {
        var ends: [Int] = []
        for message in messages {
            output.gather { format.append(message, to: &$0) }
            ends.append(output.buffer.count)
            if output.isFull { break }
        }
        do {
            try await output.flush(until: interruption)
        } catch {
            // Messages that were written completely are acknowledged; the others are delivered again at the next
            // attachment.
            let written = output.writtenBytes
            for (message, end) in zip(messages, ends) where end <= written { message.acknowledge() }
            throw error
        }
        for message in messages.prefix(ends.count) { message.acknowledge() }
        return messages.dropFirst(ends.count)
    }
}
