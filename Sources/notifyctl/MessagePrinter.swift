import NotifyClient

/// Prints a subscription, and acknowledges what was written out.
struct MessagePrinter {
    let format: MessageFormat

    /// Returns at the end of the subscription, or in a task that is cancelled.
    func print(_ subscription: NotifyClient.Subscription, until interruption: Interruption) async throws {
        var output = StandardOutput()
        for try await batch in subscription.batches {
            for gap in batch.gaps { StandardError.say("\(gap)") }
            var rest = batch.messages[...]
            while !rest.isEmpty { rest = try await printSome(of: rest, to: &output, until: interruption) }
        }
    }

    /// Prints as many messages as make one large write.
    ///
    /// - Returns: The others.
    private func printSome(
        of messages: Slice<NotifyClient.Subscription.MessageSlice>, to output: inout StandardOutput,
        until interruption: Interruption
    ) async throws -> Slice<NotifyClient.Subscription.MessageSlice> {
        var ends: [Int] = []
        for message in messages {
            output.gather { format.append(message, to: &$0) }
            ends.append(output.buffer.count)
            if output.isFull { break }
        }
        do {
            try await output.flush(until: interruption)
        } catch {
            // Messages that were written whole are done with; the others are delivered again at the next attachment.
            let written = output.writtenBytes
            for (message, end) in zip(messages, ends) where end <= written { message.acknowledge() }
            throw error
        }
        for message in messages.prefix(ends.count) { message.acknowledge() }
        return messages.dropFirst(ends.count)
    }
}
