package import NotifyLog

extension Store {
    package func purge(
        _ request: PurgeRequest, completion: @escaping @Sendable (Result<PurgeResult, StorageFailure>) -> Void
    ) {
        let (current, queue) = (current, queue)
        queue.add {
            // Earlier deletions belong to no purge.
            current.reportDeletion()
            do {
                try current.openLog().beginPurge(request)
            } catch {
                return completion(.failure(current.failure(error)))
            }
            Self.continuePurge(current, queue, completion)
        }
    }

    private static func continuePurge(
        _ current: CurrentLog, _ queue: SerialQueue,
        _ completion: @escaping @Sendable (Result<PurgeResult, StorageFailure>) -> Void
    ) {
        do {
            let result = try current.openLog().continuePurge()
            current.reportDeletion()
            guard let result else {
                queue.add { continuePurge(current, queue, completion) }
                return
            }
            completion(.success(result))
            if current.beginMaintaining() { queue.add { maintain(current, queue) } }
        } catch {
            current.reportDeletion()
            completion(.failure(current.failure(error)))
        }
    }
}
