def maybe_eval(step):
    if step % FLAGS.eval_every:
        return
    if hvd.rank() == 0:
        saver.save(sess, FLAGS.out, step)
        loss = run_eval(sess, dev)
        loss = sess.run(hvd.allreduce(tf.constant(loss), name='eval_loss'))
        log('eval averaged loss %.4f' % loss)
