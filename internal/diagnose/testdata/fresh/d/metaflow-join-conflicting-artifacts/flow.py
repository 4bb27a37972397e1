from metaflow import FlowSpec, step

class ChurnFlow(FlowSpec):
    @step
    def join(self, inputs):
        self.best = max(inputs, key=lambda i: i.auc).model
        self.merge_artifacts(inputs)
        self.next(self.end)
