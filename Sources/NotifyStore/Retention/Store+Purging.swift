package import NotifyLog

extension Store {
    package func purge(
        _ request: PurgeRequest, completion: @escaping @Sendable (Result<PurgeResult, StorageFailure>) -> Void
    ) {
        let (current, queue) = (current, queue)
        queue.add {
            guard let log = current.log else { return completion(.success(PurgeResult())) }
            // What was deleted before belongs to no purge.
            current.reportDeletion()
            do {
                try log.beginPurge(request)
            } catch {
                return completion(.failure(log.failure(error)))
            }
            Self.continuePurge(current, queue, completion)
        }
    }

    private static func continuePurge(
        _ current: CurrentLog, _ queue: SerialQueue,
        _ completion: @escaping @Sendable (Result<PurgeResult, StorageFailure>) -> Void
    ) {
        guard let log = current.log else {
            return completion(.failure(StorageFailure(kind: .inputOutput, message: "the log is closed")))
        }
        do {
            let result = try log.continuePurge()
            current.reportDeletion()
            guard let result else {
                queue.add { continuePurge(current, queue, completion) }
                return
            }
            completion(.success(result))
            if current.beginMaintaining() { queue.add { maintain(current, queue) } }
        } catch {
            current.reportDeletion()
            completion(.failure(log.failure(error)))
        }
    }
}
